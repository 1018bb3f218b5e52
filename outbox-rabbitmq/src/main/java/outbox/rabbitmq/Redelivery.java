package outbox.rabbitmq;

/** How a consumer redelivers a message after a failure, and how it dead-letters a message. */
public enum Redelivery {
    /**
     * Publishes a copy with a higher count and the reason in its headers, then acks the original after the confirm.
     * The count survives restarts, and a dead letter contains its reason. The default.
     */
    COPY,
    /**
     * Settles the message itself: {@code basicNack} with requeue, or without requeue to dead-letter it. The broker
     * returns it to its position in the queue, or moves it to the dead-letter exchange of the queue. <b>Without such
     * an exchange the broker drops the message</b>; a consumer cannot see whether the queue has one.
     *
     * <p>A nack contains neither count nor reason. The consumer counts in memory, by event id, for the last {@value
     * RequeueCounts#CAPACITY} failed events. After a restart, or in another consumer of the queue, the count starts
     * at zero, so a message may be redelivered more often than {@code maxRedeliveries}; it is not lost. The reason is
     * only in the log. A quorum queue counts every requeue towards its delivery limit, even if the message did not
     * cause the failure.
     */
    REQUEUE
}
