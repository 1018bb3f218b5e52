package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.model.EventStatus;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.Optional;

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
        Optional.ofNullable(eventId).ifPresent(filter::eventId);
        Optional.ofNullable(type).ifPresent(filter::eventType);
        if (status != null) {
            filter.status(statusOf(status));
        }
        Optional.ofNullable(aggregateType).ifPresent(filter::aggregateType);
        Optional.ofNullable(aggregateId).ifPresent(filter::aggregateId);
        Optional.ofNullable(error).ifPresent(filter::errorContains);
        Optional.ofNullable(key).ifPresent(filter::dedupKey);
        Optional.ofNullable(from).map(text -> time("from", text)).ifPresent(filter::createdFrom);
        Optional.ofNullable(before).map(text -> time("before", text)).ifPresent(filter::createdBefore);
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
