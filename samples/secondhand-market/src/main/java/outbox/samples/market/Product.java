package outbox.samples.market;

import java.math.BigDecimal;

/** A thing for sale. It exists once: its status, on_sale or sold, is the stock. */
record Product(long id, long sellerId, String title, BigDecimal price, String status) {}
