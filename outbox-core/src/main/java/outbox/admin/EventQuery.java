package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.internal.Checks;
import outbox.internal.EventRules;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Objects;

/** A query for one page of a search. Immutable. */
public final class EventQuery {

    /** The largest page size. */
    public static final int MAX_PAGE_SIZE = 1000;

    /** The order of the result: by time of storage, then by id. */
    public enum Order {
        NEWEST_FIRST,
        OLDEST_FIRST
    }

    private final EventFilter filter;
    private final Order order;
    private final int pageSize;
    private final @Nullable Cursor after;

    private EventQuery(Builder builder) {
        filter = builder.filter;
        order = builder.order;
        pageSize = builder.pageSize;
        after = builder.after;
    }

    /** Returns a query for the 100 newest events that match the filter. */
    public static EventQuery of(EventFilter filter) {
        return builder().filter(filter).build();
    }

    public static Builder builder() {
        return new Builder();
    }

    public EventFilter filter() {
        return filter;
    }

    public Order order() {
        return order;
    }

    public int pageSize() {
        return pageSize;
    }

    /** The event after which the page starts; null for the first page. */
    public @Nullable Cursor after() {
        return after;
    }

    /** Returns the same query, starting after the given event. */
    public EventQuery after(Cursor cursor) {
        return builder()
                .filter(filter)
                .order(order)
                .pageSize(pageSize)
                .after(cursor)
                .build();
    }

    /** Builds a query; every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private EventFilter filter = EventFilter.all();
        private Order order = Order.NEWEST_FIRST;
        private int pageSize = 100;
        private @Nullable Cursor after;

        private Builder() {}

        /** Default: all events. */
        public Builder filter(EventFilter filter) {
            this.filter = Objects.requireNonNull(filter, "filter");
            return this;
        }

        /** Default: newest first. */
        public Builder order(Order order) {
            this.order = Objects.requireNonNull(order, "order");
            return this;
        }

        /** The maximum number of events, 1 to {@value EventQuery#MAX_PAGE_SIZE}; default 100. */
        public Builder pageSize(int pageSize) {
            this.pageSize = Checks.range("pageSize", pageSize, 1, MAX_PAGE_SIZE);
            return this;
        }

        /** Default: the first page. Use a cursor only with the order and filter of the search that returned it. */
        public Builder after(Cursor after) {
            this.after = Objects.requireNonNull(after, "after");
            return this;
        }

        public EventQuery build() {
            return new EventQuery(this);
        }
    }

    /**
     * A page of a search result.
     *
     * @param next the start of the next page, for {@link EventQuery#after(Cursor)}; null if this page was not full,
     * so there was no next page
     */
    public record Page(List<EventSummary> events, @Nullable Cursor next) {

        public Page {
            events = List.copyOf(events);
        }
    }

    /**
     * The position of an event in the order of a search. The next page starts after this event, even if events were
     * inserted or deleted meanwhile.
     */
    public record Cursor(Instant createdAt, String eventId) {

        public Cursor {
            createdAt = Checks.time("createdAt of the cursor", createdAt);
            if (eventId.isEmpty() || eventId.indexOf('\0') >= 0) {
                throw new IllegalArgumentException("eventId of the cursor must not be empty or contain NUL");
            }
        }

        /** Returns the cursor as text, for a link or a command line; {@link #parse} reads it. */
        public String text() {
            return createdAt + "/" + eventId;
        }

        /** Parses the result of {@link #text}; rejects any other text. */
        public static Cursor parse(String text) {
            int slash = text.indexOf('/');
            try {
                return new Cursor(Instant.parse(text.substring(0, Math.max(0, slash))), text.substring(slash + 1));
            } catch (DateTimeParseException e) {
                throw new IllegalArgumentException("Not a cursor: " + EventRules.show(text), e);
            }
        }
    }
}
