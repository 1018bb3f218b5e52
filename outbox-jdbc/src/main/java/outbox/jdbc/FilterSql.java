package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.Binds;
import outbox.model.EventStatus;

import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The WHERE clause of a filter. The text contains only constants of this library. Every value is bound. */
final class FilterSql {

    private final List<String> conditions = new ArrayList<>();
    private final List<Binds> binds = new ArrayList<>();

    FilterSql(Dialect dialect, EventFilter filter) {
        if (!filter.statuses().isEmpty()) {
            String codes = filter.statuses().stream()
                    .map(EventStatus::code)
                    .sorted()
                    .map(String::valueOf)
                    .collect(Collectors.joining(", "));
            add("status IN (" + codes + ")", binder -> {});
        }
        if (!filter.eventIds().isEmpty()) {
            List<String> ids = filter.eventIds().stream().sorted().toList();
            add(dialect.isIn("event_id", null, ids.size()), binder -> dialect.bindIds(binder, ids));
        }
        text("event_type", filter.eventType());
        // also matches rows without an aggregate type
        if (AggregateType.GLOBAL.name().equals(filter.aggregateType())) {
            add("(aggregate_type = ? OR aggregate_type IS NULL)", binder -> binder.text(AggregateType.GLOBAL.name()));
        } else {
            text("aggregate_type", filter.aggregateType());
        }
        text("aggregate_id", filter.aggregateId());
        text("dedup_key", filter.dedupKey());
        String error = filter.errorContains();
        if (error != null) {
            String pattern = "%" + escaped(error) + "%";
            add("last_error LIKE ? ESCAPE '!'", binder -> binder.text(pattern));
        }
        time("created_at >= ?", filter.createdFrom());
        time("created_at < ?", filter.createdBefore());
        text("tenant_id", filter.tenantId());
        Instant due = filter.dueBefore();
        if (due != null) {
            add("available_at < ?", binder -> binder.time("available_at", due));
        }
        claimed(filter);
        Instant ended = filter.endedBefore();
        if (ended != null) {
            add("(done_at IS NULL OR done_at < ?)", binder -> binder.time("done_at", ended));
        }
        if (filter.isInOrder()) {
            add("seq > 0 AND aggregate_id IS NOT NULL", binder -> {});
        }
    }

    /** Returns the LIKE pattern for the tokens of a node. */
    static String ofNode(String node) {
        return escaped(node) + "/%";
    }

    /** Escapes a text for a LIKE pattern with the escape character {@code !}. */
    static String escaped(String text) {
        return text.replaceAll("([!%_])", "!$1");
    }

    private void claimed(EventFilter filter) {
        String node = filter.claimedBy();
        if (node != null) {
            add(
                    "(locked_by = ? OR locked_by LIKE ? ESCAPE '!')",
                    binder -> binder.text(node).text(ofNode(node)));
        }
        Instant since = filter.claimedBefore();
        if (since != null) {
            add("locked_at < ?", binder -> binder.time("locked_at", since));
        }
    }

    /**
     * Selects only events after the cursor. The first condition lets the database use an index on created_at. The
     * second one decides between events with the same time.
     */
    void behind(EventQuery.Cursor cursor, boolean oldestFirst) {
        String sign = oldestFirst ? ">" : "<";
        add(
                "created_at " + sign + "= ? AND (created_at " + sign + " ? OR event_id " + sign + " ?)",
                binder -> binder.time("created_at", cursor.createdAt())
                        .time("created_at", cursor.createdAt())
                        .text(cursor.eventId()));
    }

    String sql() {
        return conditions.isEmpty() ? "" : "WHERE " + String.join(" AND ", conditions);
    }

    void bind(Binder binder) throws SQLException {
        for (Binds some : binds) {
            some.to(binder);
        }
    }

    private void text(String column, @Nullable String value) {
        if (value != null) {
            add(column + " = ?", binder -> binder.text(value));
        }
    }

    private void time(String condition, @Nullable Instant value) {
        if (value != null) {
            add(condition, binder -> binder.time("created_at", value));
        }
    }

    private void add(String condition, Binds bind) {
        conditions.add(condition);
        binds.add(bind);
    }
}
