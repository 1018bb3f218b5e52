package outbox.samples.spring;

import outbox.spring.OutboxEvent;

/** The event. When it is published in a transaction, it is stored in that transaction. */
@OutboxEvent(type = "order.placed", aggregate = "Order", aggregateId = "orderId")
record OrderPlaced(String orderId, String item, int quantity) {}
