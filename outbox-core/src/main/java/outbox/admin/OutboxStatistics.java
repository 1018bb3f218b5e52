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
 * The number of events and the age of the oldest pending one.
 *
 * @param at the time of the count by the database clock
 * @param byType the counts, sorted by type and status
 * @param oldestPendingAge the age of the oldest NEW or RETRY event since it was stored; null if none is pending
 */
public record OutboxStatistics(
        Instant at, List<TypeCount> byType, @Nullable Duration oldestPendingAge) {

    public OutboxStatistics {
        byType = byType.stream()
                .sorted(Comparator.comparing(TypeCount::eventType).thenComparingInt(TypeCount::statusCode))
                .toList();
    }

    /** Returns the number of events in each status; zero if there are none. */
    public Map<EventStatus, Long> byStatus() {
        Map<EventStatus, Long> counts = new EnumMap<>(EventStatus.class);
        for (EventStatus status : EventStatus.values()) {
            counts.put(status, sum(status));
        }
        return Collections.unmodifiableMap(counts);
    }

    /**
     * Returns the number of events with an unknown status code, written by another program. No relay processes them.
     */
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

    /**
     * The number of events of a type with a given status.
     *
     * @param statusCode the value of the status column, which may be an unknown code
     */
    public record TypeCount(String eventType, int statusCode, long count) {

        public TypeCount {
            if (count < 0) {
                throw new IllegalArgumentException("count must not be negative: " + count);
            }
        }

        /** Returns the status; empty if the code in the table is not a status. */
        public Optional<EventStatus> status() {
            return OutboxStatistics.statusOf(statusCode);
        }
    }
}
