package outbox.samples.market;

import com.fasterxml.jackson.annotation.JsonRawValue;
import org.jspecify.annotations.Nullable;

import java.time.Instant;

/** The history of an event: its row in the outbox, and its consumers with the time of consumption. */
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

    /** A row of {@code event_consume_log}. */
    record Consumption(String consumer, Instant consumeTime) {}
}
