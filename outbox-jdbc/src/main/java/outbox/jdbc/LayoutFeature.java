package outbox.jdbc;

import outbox.Experimental;

import java.util.List;
import java.util.Set;

/**
 * An optional feature of a layout. An operation that needs a missing feature is refused with the name of
 * the feature.
 */
@Experimental
public enum LayoutFeature {
    /**
     * Several nodes share the table by means of claims. Without it, one node at a time uses the table, under
     * a leadership.
     */
    SHARED_CLAIMS(LayoutColumn.LOCKED_AT),
    /** The statement that inserts an event also claims it. */
    BORN_LEASED(LayoutColumn.LOCKED_BY, LayoutColumn.LOCKED_AT),
    AGGREGATE(LayoutColumn.AGGREGATE_TYPE, LayoutColumn.AGGREGATE_ID),
    TENANT(LayoutColumn.TENANT_ID),
    HEADERS(LayoutColumn.HEADERS),
    LAST_ERROR(LayoutColumn.LAST_ERROR),
    SEQUENCE(LayoutColumn.SEQUENCE),
    TRACE(LayoutColumn.TRACE_PARENT, LayoutColumn.TRACE_STATE);

    private final LayoutColumn first;
    private final LayoutColumn second; // the same as the first if one column is enough

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
