package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;

/**
 * The state of a consumer and its counters since the start.
 *
 * @param consuming whether messages can arrive now
 * @param trouble the current problem: why it does not consume, or why it cannot publish copies; null if there is none
 * @param inFlight messages that arrived and are not settled yet, including those that wait for their next attempt
 * @param handled messages whose effect was committed
 * @param duplicates messages that were handled before
 * @param redelivered counted failures after which the message is redelivered
 * @param putOff failures that were not caused by the message; it is postponed and the failure is not counted
 * @param deadLettered messages that became dead letters
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
