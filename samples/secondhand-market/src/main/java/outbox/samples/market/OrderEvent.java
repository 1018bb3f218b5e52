package outbox.samples.market;

/** The events of the market (section 5.1), each with the routing key under which it is sent. */
enum OrderEvent {
    ORDER_CREATED("order.created"),
    ORDER_PAID("order.paid"),
    ORDER_STATUS_CHANGED("order.status.changed"),
    ORDER_TIMEOUT("order.timeout.delay"); // the delay queue gives it back as order.timeout

    static final String AGGREGATE = "Order";

    private final String routingKey;

    OrderEvent(String routingKey) {
        this.routingKey = routingKey;
    }

    String routingKey() {
        return routingKey;
    }
}
