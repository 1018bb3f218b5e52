package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.internal.Checks;

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
    private final @Nullable EventCursor after;

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
    public @Nullable EventCursor after() {
        return after;
    }

    /** Returns the same query, starting after the given event. */
    public EventQuery after(EventCursor cursor) {
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
        private @Nullable EventCursor after;

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
        public Builder after(EventCursor after) {
            this.after = Objects.requireNonNull(after, "after");
            return this;
        }

        public EventQuery build() {
            return new EventQuery(this);
        }
    }
}
