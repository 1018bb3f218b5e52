package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.TableLayout;

/** Which columns the table has. */
enum Layout {
    /** Our own table, which can do everything. */
    OUTBOX,
    /** The standard table of a module, see {@link TableLayout#module}. */
    MODULE,
    /** The table with texts for the status, see {@link TableLayout#textStatus}; it needs a single active node. */
    TEXT_STATUS;

    /** The name of a table that is given none; a module has to name its own. */
    String table(PropertyCheck check, @Nullable String table) {
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
