package outbox.samples.market;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import outbox.rabbitmq.UnrecoverableMessageException;

/**
 * Maintains the inventory view: the state of each product, and how often it was ordered. The order itself already
 * took the product from the stock.
 */
@Component
class InventoryConsumer implements OrderConsumer {

    /** Binds: product, status. */
    private static final String COUNT = """
            INSERT INTO inventory_view (product_id, status, times_ordered, update_time)
            VALUES (?, ?, 1, LOCALTIMESTAMP)
            ON DUPLICATE KEY UPDATE status = VALUES(status), times_ordered = times_ordered + 1, update_time = LOCALTIMESTAMP
            """;

    private final JdbcClient jdbc;

    InventoryConsumer(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    @Override
    public String queue() {
        return MarketTopology.INVENTORY_QUEUE;
    }

    @Override
    public String name() {
        return "inventory-update";
    }

    @Override
    public OrderEvent type() {
        return OrderEvent.ORDER_CREATED;
    }

    /**
     * Reads the product from the order, because the example message of section 6 does not contain it. Locks the
     * product first, as the release of a product does, so that the view never shows an older state than the product.
     */
    @Override
    public void handle(OrderMessage message) {
        long product = jdbc.sql("SELECT product_id FROM orders WHERE id = ?")
                .param(message.orderId())
                .query(Long.class)
                .single();
        String status = jdbc.sql("SELECT status FROM products WHERE id = ? FOR UPDATE")
                .param(product)
                .query(String.class)
                .optional()
                .orElseThrow(() ->
                        new UnrecoverableMessageException(Texts.CONSUME_FAILED + ": there is no product " + product));
        jdbc.sql(COUNT).params(product, status).update();
    }
}
