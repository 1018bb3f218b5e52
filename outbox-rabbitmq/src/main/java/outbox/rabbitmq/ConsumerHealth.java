package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;

/**
 * How a consumer is, and what it has done since it was started.
 *
 * @param consuming whether messages can arrive now
 * @param trouble what is wrong: why it does not consume, or why it cannot pass on copies; null if nothing is
 * @param inFlight messages that have arrived and are not settled yet, those that wait for their next try included
 * @param handled messages whose effect was committed
 * @param duplicates messages that had been handled before
 * @param redelivered failures that were counted and are tried again
 * @param putOff failures through no fault of the message
 * @param deadLettered messages that were given up
 */
public record ConsumerHealth(
        boolean consuming,
        @Nullable String trouble,
        int inFlight,
        long handled,
        long duplicates,
        long redelivered,
        long putOff,
        long deadLettered) {}
