package outbox.jdbc;

import java.util.List;
import java.util.Set;

/** What a layout can have or lack. What it lacks is refused by this name. */
public enum LayoutFeature {
    /** Several nodes share the table by claims. Without it, one node at a time works on it, under a leadership. */
    SHARED_CLAIMS(LayoutColumn.LOCKED_AT),
    /** An event is claimed by the very statement that inserts it. */
    BORN_LEASED(LayoutColumn.LOCKED_BY, LayoutColumn.LOCKED_AT),
    AGGREGATE(LayoutColumn.AGGREGATE_TYPE, LayoutColumn.AGGREGATE_ID),
    TENANT(LayoutColumn.TENANT_ID),
    HEADERS(LayoutColumn.HEADERS),
    LAST_ERROR(LayoutColumn.LAST_ERROR),
    SEQUENCE(LayoutColumn.SEQUENCE),
    TRACE(LayoutColumn.TRACE_PARENT, LayoutColumn.TRACE_STATE);

    private final LayoutColumn first;
    private final LayoutColumn second; // the same where one is enough

    LayoutFeature(LayoutColumn column) {
        this(column, column);
    }

    LayoutFeature(LayoutColumn first, LayoutColumn second) {
        this.first = first;
        this.second = second;
    }

    boolean isIn(Set<LayoutColumn> some) {
        return some.contains(first) && some.contains(second);
    }

    List<LayoutColumn> columns() {
        return first == second ? List.of(first) : List.of(first, second);
    }
}
