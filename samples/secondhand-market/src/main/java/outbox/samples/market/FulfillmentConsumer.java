package outbox.samples.market;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/** Starts the shipment of a paid order. */
@Component
class FulfillmentConsumer implements OrderConsumer {

    private static final Logger LOG = LoggerFactory.getLogger(FulfillmentConsumer.class);

    private static final String START = """
            INSERT INTO shipments (order_id, create_time)
            SELECT id, LOCALTIMESTAMP
              FROM orders
             WHERE id = ?
               AND status = 'paid'
            """;

    private final JdbcClient jdbc;

    FulfillmentConsumer(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    @Override
    public String queue() {
        return MarketTopology.FULFILLMENT_QUEUE;
    }

    @Override
    public String name() {
        return "order-fulfillment";
    }

    @Override
    public OrderEvent type() {
        return OrderEvent.ORDER_PAID;
    }

    @Override
    public void handle(OrderMessage message) {
        if (jdbc.sql(START).param(message.orderId()).update() == 1) {
            LOG.info("The shipment of order {} has begun", message.orderId());
        } else {
            LOG.info("Order {} is past being paid; there is no shipment to begin", message.orderId());
        }
    }
}
