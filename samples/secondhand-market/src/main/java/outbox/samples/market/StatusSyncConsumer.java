package outbox.samples.market;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import outbox.rabbitmq.UnrecoverableMessageException;

/** Notifies buyer and seller about the new status of their order. */
@Component
class StatusSyncConsumer implements OrderConsumer {

    /** Binds: order, user, text. */
    private static final String NOTIFY = """
            INSERT INTO notifications (order_id, user_id, text, create_time)
            VALUES (?, ?, ?, LOCALTIMESTAMP)
            """;

    private final JdbcClient jdbc;
    private final OrderService orders;

    StatusSyncConsumer(JdbcClient jdbc, OrderService orders) {
        this.jdbc = jdbc;
        this.orders = orders;
    }

    @Override
    public String queue() {
        return MarketTopology.STATUS_SYNC_QUEUE;
    }

    @Override
    public String name() {
        return "order-status-sync";
    }

    @Override
    public OrderEvent type() {
        return OrderEvent.ORDER_STATUS_CHANGED;
    }

    /**
     * Fails permanently if the order has not reached the status in the event, because the event was written
     * with the change.
     */
    @Override
    public void handle(OrderMessage message) {
        OrderStatus told = told(message);
        Order order = orders.find(message.orderId());
        if (order.status() == OrderStatus.CANCELLED || order.status().compareTo(told) < 0) {
            throw new UnrecoverableMessageException(Texts.CONSUME_FAILED + ": order " + order.id() + " is "
                    + order.status().text() + ", not " + told.text());
        }
        String text = "Order " + order.orderNo() + ": " + message.text("oldStatus") + " -> " + told.text();
        jdbc.sql(NOTIFY).params(order.id(), order.buyerId(), text).update();
        jdbc.sql(NOTIFY).params(order.id(), order.sellerId(), text).update();
    }

    private static OrderStatus told(OrderMessage message) {
        String text = message.text("newStatus");
        return switch (text) {
            case "shipped" -> OrderStatus.SHIPPED;
            case "completed" -> OrderStatus.COMPLETED;
            default ->
                throw new UnrecoverableMessageException(
                        Texts.CONSUME_FAILED + ": payload.newStatus must be shipped or completed");
        };
    }
}
