package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.TableLayout;

/** The column layout of the event table. */
public enum Layout {
    /** Our own table, which supports all features. */
    OUTBOX,
    /** The standard table of a module, see {@link TableLayout#module}. */
    MODULE,
    /**
     * The table that stores the status as text, see {@link TableLayout#textStatus}. It needs a single active node.
     */
    TEXT_STATUS;

    /** Returns the table name, or the default if none is configured. The module layout has no default name. */
    public String table(PropertyCheck check, @Nullable String table) {
        if (table != null) {
            return check.notBlank("table", table);
        }
        return switch (this) {
            case OUTBOX -> AbstractJdbcEventStore.DEFAULT_TABLE;
            case TEXT_STATUS -> "outbox_events";
            case MODULE -> check.notBlank("table", null);
        };
    }

    TableLayout of(String table) {
        return switch (this) {
            case OUTBOX -> TableLayout.specification(table);
            case MODULE -> TableLayout.module(table);
            case TEXT_STATUS -> TableLayout.textStatus(table);
        };
    }
}
