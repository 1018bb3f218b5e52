package outbox.samples.spring;

import outbox.spring.OutboxEvent;

/** The event: published in a transaction, it is stored with it. */
@OutboxEvent(type = "order.placed", aggregate = "Order", aggregateId = "orderId")
record OrderPlaced(String orderId, String item, int quantity) {}
