package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How many events there are, and how long the oldest one waits.
 *
 * @param at when, by the database's clock
 * @param byType sorted by type and status
 * @param oldestPendingAge since when the oldest NEW or RETRY event is stored; null if none is pending
 */
public record OutboxStatistics(
        Instant at, List<TypeCount> byType, @Nullable Duration oldestPendingAge) {

    public OutboxStatistics {
        byType = byType.stream()
                .sorted(Comparator.comparing(TypeCount::eventType).thenComparingInt(TypeCount::statusCode))
                .toList();
    }

    /** The number of events in each status; zero where there are none. */
    public Map<EventStatus, Long> byStatus() {
        Map<EventStatus, Long> counts = new EnumMap<>(EventStatus.class);
        for (EventStatus status : EventStatus.values()) {
            counts.put(status, sum(status));
        }
        return Collections.unmodifiableMap(counts);
    }

    /** The number of events whose status code is of no status, written by somebody else: no relay touches them. */
    public long unknownStatus() {
        return byType.stream()
                .filter(some -> some.status().isEmpty())
                .mapToLong(TypeCount::count)
                .sum();
    }

    private long sum(EventStatus status) {
        return byType.stream()
                .filter(some -> some.statusCode() == status.code())
                .mapToLong(TypeCount::count)
                .sum();
    }

    static Optional<EventStatus> statusOf(int code) {
        return Arrays.stream(EventStatus.values())
                .filter(status -> status.code() == code)
                .findFirst();
    }
}
