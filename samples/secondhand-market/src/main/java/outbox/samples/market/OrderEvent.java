package outbox.samples.market;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The events of the market (section 5.1), each with the routing key under which it is sent and the queue that gets it. */
enum OrderEvent {
    ORDER_CREATED("order.created", MarketTopology.INVENTORY_QUEUE),
    ORDER_PAID("order.paid", MarketTopology.FULFILLMENT_QUEUE),
    ORDER_STATUS_CHANGED("order.status.changed", MarketTopology.STATUS_SYNC_QUEUE),
    ORDER_TIMEOUT("order.timeout.delay", MarketTopology.TIMEOUT_DELAY_QUEUE); // which gives it back as order.timeout

    static final String AGGREGATE = "Order";

    private final String routingKey;
    private final String queue;

    OrderEvent(String routingKey, String queue) {
        this.routingKey = routingKey;
        this.queue = queue;
    }

    /** Empty if it is no type of ours. */
    static Optional<OrderEvent> named(String type) {
        return Arrays.stream(values())
                .filter(event -> event.name().equals(type))
                .findFirst();
    }

    String routingKey() {
        return routingKey;
    }

    String queue() {
        return queue;
    }

    /**
     * What its payload cannot be without when it is read: the fields of section 13, but for those of an ORDER_CREATED
     * that the example of section 6 does not have. What is written has all of
     * them.
     */
    List<String> fields() {
        return switch (this) {
            case ORDER_CREATED -> List.of("orderId", "orderNo", "buyerId", "sellerId");
            case ORDER_PAID -> List.of("orderId", "orderNo", "payTime", "amount");
            case ORDER_STATUS_CHANGED -> List.of("orderId", "orderNo", "oldStatus", "newStatus", "changedAt");
            case ORDER_TIMEOUT -> List.of("orderId", "orderNo", "createTime");
        };
    }
}
