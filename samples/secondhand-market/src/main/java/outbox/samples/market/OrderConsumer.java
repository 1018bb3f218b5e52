package outbox.samples.market;

/** Handles the events of one queue. */
interface OrderConsumer {

    String queue();

    /** The name in {@code event_consume_log}. */
    String name();

    /** The only event type that the queue may contain. */
    OrderEvent type();

    /**
     * Handles an event once, in the transaction that also writes the inbox mark. An exception rolls back both, and
     * the message is redelivered up to the limit. An {@link outbox.rabbitmq.UnrecoverableMessageException} sends it
     * to the dead-letter queue immediately.
     */
    void handle(OrderMessage message);
}
