package outbox.samples.market;

import com.fasterxml.jackson.annotation.JsonRawValue;
import org.jspecify.annotations.Nullable;

import java.time.Instant;

/** The way of an event: its row in the outbox, and who consumed it when. */
record EventWay(
        String eventId,
        String eventType,
        long orderId,
        @Nullable String traceId,
        @JsonRawValue String payload,
        String status,
        int retryCount,
        @Nullable Instant nextRetryTime,
        Instant createTime,
        Instant updateTime,
        @Nullable Consumption consumption) {

    /** The line of {@code event_consume_log}. */
    record Consumption(String consumer, Instant consumeTime) {}
}
