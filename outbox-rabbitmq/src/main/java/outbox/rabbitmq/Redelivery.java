package outbox.rabbitmq;

/** How a consumer lets a message come again after a failure, and what it does with one that it gives up. */
public enum Redelivery {
    /**
     * Publishes a confirmed copy with a higher count and the reason in its headers, then acks the original. The count
     * survives everything, and a dead letter says why it is one. The default.
     */
    COPY,
    /**
     * Settles the message itself: {@code basicNack} with requeue, and without it when the message is given up. The
     * broker puts it back to its place in the queue, or moves it to the
     * dead-letter exchange of the queue. <b>Without such an exchange the broker drops it</b>; a consumer cannot see
     * whether the queue has one.
     *
     * <p>A nack carries neither count nor reason. The consumer counts in memory, by event id, for the last {@value
     * RequeueCounts#CAPACITY} events that failed: a restart, or another consumer of
     * the queue, begins at zero, so a message can come more often than {@code maxRedeliveries} says, but is never
     * lost by it. The reason is in the log only. A quorum queue counts every requeue
     * towards its delivery limit, also those that are no fault of the message.
     */
    REQUEUE
}
