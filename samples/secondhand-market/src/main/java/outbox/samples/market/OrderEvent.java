package outbox.samples.market;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The events of the market (section 5.1), each with its routing key and the queue that receives it. */
enum OrderEvent {
    ORDER_CREATED("order.created", MarketTopology.INVENTORY_QUEUE),
    ORDER_PAID("order.paid", MarketTopology.FULFILLMENT_QUEUE),
    ORDER_STATUS_CHANGED("order.status.changed", MarketTopology.STATUS_SYNC_QUEUE),
    ORDER_TIMEOUT("order.timeout.delay", MarketTopology.TIMEOUT_DELAY_QUEUE); // dead-letters it as order.timeout

    static final String AGGREGATE = "Order";

    private final String routingKey;
    private final String queue;

    OrderEvent(String routingKey, String queue) {
        this.routingKey = routingKey;
        this.queue = queue;
    }

    /** Returns empty if the type is unknown. */
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
     * Returns the fields that a received payload must contain: the fields of section 13, without those of
     * ORDER_CREATED that are missing in the example of section 6. Written payloads contain all fields.
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
