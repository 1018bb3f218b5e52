package outbox.samples.market;

import java.math.BigDecimal;

/** A product for sale. There is one piece of each: its status, on_sale or sold, is the stock. */
record Product(long id, long sellerId, String title, BigDecimal price, String status) {}
