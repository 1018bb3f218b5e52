package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.model.EventStatus;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Locale;

/** The conditions that select events for an operation of the endpoint. A condition that is null is not applied. */
record EventSearch(
        @Nullable String eventId,
        @Nullable String type,
        @Nullable String status,
        @Nullable String aggregateType,
        @Nullable String aggregateId,
        @Nullable String error,
        @Nullable String key,
        @Nullable String from,
        @Nullable String before) {

    /** Selects all events if the type is null. */
    static EventSearch ofType(@Nullable String type) {
        return new EventSearch(null, type, null, null, null, null, null, null, null);
    }

    EventQuery query(@Nullable Integer limit, @Nullable String cursor) {
        EventQuery.Builder query = EventQuery.builder().filter(isEmpty() ? EventFilter.all() : filter());
        if (limit != null) {
            query.pageSize(limit);
        }
        if (cursor != null) {
            query.after(EventQuery.Cursor.parse(cursor));
        }
        return query.build();
    }

    boolean isEmpty() {
        return eventId == null && status == null && !isNarrow();
    }

    /** Whether it has a condition other than id and status. */
    boolean isNarrow() {
        return type != null
                || aggregateType != null
                || aggregateId != null
                || error != null
                || key != null
                || from != null
                || before != null;
    }

    /** Returns the filter. Throws if there is no condition at all. */
    EventFilter filter() {
        EventFilter.Builder filter = EventFilter.builder();
        if (eventId != null) {
            filter.eventId(eventId);
        }
        if (type != null) {
            filter.eventType(type);
        }
        if (status != null) {
            filter.status(statusOf(status));
        }
        if (aggregateType != null) {
            filter.aggregateType(aggregateType);
        }
        if (aggregateId != null) {
            filter.aggregateId(aggregateId);
        }
        if (error != null) {
            filter.errorContains(error);
        }
        if (key != null) {
            filter.dedupKey(key);
        }
        if (from != null) {
            filter.createdFrom(time("from", from));
        }
        if (before != null) {
            filter.createdBefore(time("before", before));
        }
        return filter.build();
    }

    private static Instant time(String name, String value) {
        try {
            return Instant.parse(value);
        } catch (DateTimeParseException e) {
            throw new IllegalArgumentException(
                    name + " must be a time in UTC, as in 2026-11-01T00:00:00Z, not '" + value + "'", e);
        }
    }

    private static EventStatus statusOf(String name) {
        try {
            return EventStatus.valueOf(name.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("status must be NEW, DONE, RETRY or DEAD, not '" + name + "'", e);
        }
    }
}
