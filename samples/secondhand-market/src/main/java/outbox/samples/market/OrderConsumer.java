package outbox.samples.market;

/** What is done with the events of one queue. */
interface OrderConsumer {

    String queue();

    /** The name in {@code event_consume_log}. */
    String name();

    /** The only type of event that belongs into the queue. */
    OrderEvent type();

    /**
     * Handles an event once: in the transaction that also remembers it. What it throws rolls both back and the message comes again, up to the threshold; an
     * {@link outbox.rabbitmq.UnrecoverableMessageException} sends it to the dead letters at once.
     */
    void handle(OrderMessage message);
}
