package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;
import outbox.spi.ErrorText;

import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/** The words of a layout in the SQL of a database: names in its quotes, and states as conditions and assignments. */
final class LayoutSql {

    private final TableLayout layout;
    private final AbstractJdbcEventStore dialect;
    private final @Nullable Map<EventStatus, String> statuses;

    LayoutSql(TableLayout layout, AbstractJdbcEventStore dialect) {
        this.layout = layout;
        this.dialect = dialect;
        this.statuses = layout.statuses();
    }

    boolean isPostgres() {
        return dialect instanceof PostgresEventStore;
    }

    boolean has(LayoutColumn column) {
        return layout.has(column);
    }

    /** The name of a column in quotes. */
    String column(LayoutColumn column) {
        return quoted(layout.column(column));
    }

    /** The name of a column as the shape of the table knows it. */
    String plain(LayoutColumn column) {
        return layout.column(column).toLowerCase(Locale.ROOT);
    }

    /** The name of a table in quotes, each part for itself. A name in quotes is taken as it is; H2 keeps in capitals what was created without them. */
    String table(TableName name) {
        int dot = name.value().indexOf('.');
        return dot < 0
                ? quoted(name.value())
                : quoted(name.value().substring(0, dot)) + "." + quoted(name.simpleName());
    }

    private String quoted(String name) {
        return switch (dialect.name()) {
            case "mysql" -> "`" + name + "`";
            case "h2" -> "\"" + name.toUpperCase(Locale.ROOT) + "\"";
            default -> "\"" + name + "\"";
        };
    }

    /** The parameter for a value that is bound as text, whatever the type of its column. */
    String parameter(TableShape shape, LayoutColumn column) {
        String type = shape.typeOf(plain(column));
        return isPostgres() ? "CAST(? AS " + type + ")" : dialect.jsonParameter(type);
    }

    /** The condition that the event is neither delivered nor dead. */
    String isPending() {
        return statuses == null
                ? notDone() + " AND " + column(LayoutColumn.ATTEMPTS) + " < " + layout.maxAttempts()
                : notDone();
    }

    /** The same in parts, of which each is served by an index that begins with the status: InnoDB locks every row that it has to sort. */
    List<String> pendingParts() {
        return statuses == null
                ? List.of(isPending())
                : List.of(
                        column(LayoutColumn.STATUS) + " = " + newStatus(),
                        column(LayoutColumn.STATUS) + " = " + statuses.get(EventStatus.RETRY));
    }

    /**
     * The condition that a claimed event is not finished. The run that may be its last is recorded before it starts, so its attempts say nothing. In words that no index has: claimed rows
     * are found by their id. PostgreSQL takes a partial index for small that holds an entry for each event finished since the last vacuum, and H2 waits for rows that it only passes.
     */
    String isUnfinished() {
        return "CASE WHEN " + notDone() + " THEN 1 END = 1";
    }

    String notDone() {
        return statuses == null
                ? column(LayoutColumn.DONE_AT) + " IS NULL"
                : column(LayoutColumn.STATUS) + " IN (" + statuses.get(EventStatus.NEW) + ", "
                        + statuses.get(EventStatus.RETRY) + ")";
    }

    /** The condition that the event is delivered, or dead. */
    String is(EventStatus terminal) {
        if (statuses != null) {
            return column(LayoutColumn.STATUS) + " = " + statuses.get(terminal);
        }
        return terminal == EventStatus.DONE
                ? column(LayoutColumn.DONE_AT) + " IS NOT NULL"
                : column(LayoutColumn.DONE_AT) + " IS NULL AND " + column(LayoutColumn.ATTEMPTS) + " >= "
                        + layout.maxAttempts();
    }

    /** The condition that the event failed, will be tried again, and is not claimed. */
    String isRetryAndFree() {
        String retry = statuses == null
                ? isPending() + " AND " + column(LayoutColumn.ATTEMPTS) + " > 0"
                : column(LayoutColumn.STATUS) + " = " + statuses.get(EventStatus.RETRY);
        return retry + (has(LayoutColumn.LOCKED_AT) ? " AND " + column(LayoutColumn.LOCKED_AT) + " IS NULL" : "");
    }

    /** The status code of the specification. */
    String code() {
        if (statuses != null) {
            return "CASE %1$s WHEN %2$s THEN 0 WHEN %3$s THEN 1 WHEN %4$s THEN 2 WHEN %5$s THEN 3 ELSE -1 END"
                    .formatted(
                            column(LayoutColumn.STATUS),
                            statuses.get(EventStatus.NEW),
                            statuses.get(EventStatus.DONE),
                            statuses.get(EventStatus.RETRY),
                            statuses.get(EventStatus.DEAD));
        }
        String failed = column(LayoutColumn.ATTEMPTS) + " > 0"
                + (has(LayoutColumn.LAST_ERROR) ? " OR " + column(LayoutColumn.LAST_ERROR) + " IS NOT NULL" : "");
        return "CASE WHEN %s THEN 1 WHEN %s THEN 3 WHEN %s THEN 2 ELSE 0 END"
                .formatted(is(EventStatus.DONE), is(EventStatus.DEAD), failed);
    }

    /** The condition that the event is due. Binds: now, as available_at. */
    String isDue() {
        String due = column(LayoutColumn.AVAILABLE_AT);
        return layout.isDueWhenNull() ? "(" + due + " IS NULL OR " + due + " <= ?)" : due + " <= ?";
    }

    /** The oldest due time first; where those that were never due come is the database's choice. */
    String order() {
        return column(LayoutColumn.AVAILABLE_AT)
                + (has(LayoutColumn.SEQUENCE)
                        ? ", " + column(LayoutColumn.SEQUENCE)
                        : ", " + column(LayoutColumn.CREATED_AT));
    }

    String dueTime() {
        String due = column(LayoutColumn.AVAILABLE_AT);
        return layout.isDueWhenNull() ? "COALESCE(" + due + ", " + column(LayoutColumn.CREATED_AT) + ")" : due;
    }

    /** The time by which the age of a finished event is told. A dead one that has none is as old as its row. */
    LayoutColumn endTime(EventStatus terminal) {
        if (has(LayoutColumn.DONE_AT) && (statuses != null || terminal == EventStatus.DONE)) {
            return LayoutColumn.DONE_AT;
        }
        return has(LayoutColumn.UPDATED_AT) ? LayoutColumn.UPDATED_AT : LayoutColumn.CREATED_AT;
    }

    /** Whether the table surely has an index that begins with this time, for the finished events alone. */
    boolean isIndexed(LayoutColumn end) {
        return statuses == null && end == LayoutColumn.DONE_AT;
    }

    /** The assignments of a mark but for the lock, without a comma at either end. Binds: {@link #bindMark}. */
    String set(EventStatus status) {
        StringBuilder set = new StringBuilder();
        if (statuses != null) {
            set.append(column(LayoutColumn.STATUS))
                    .append(" = ")
                    .append(statuses.get(status))
                    .append(", ");
        }
        String attempts = column(LayoutColumn.ATTEMPTS);
        switch (status) {
            case DONE -> set.append(has(LayoutColumn.DONE_AT) ? column(LayoutColumn.DONE_AT) + " = ?, " : "");
            case RETRY ->
                set.append(attempts)
                        .append(" = ")
                        .append(
                                statuses == null
                                        ? atMost(attempts + " + ?", layout.maxAttempts() - 1)
                                        : attempts + " + ?")
                        .append(", ")
                        .append(column(LayoutColumn.AVAILABLE_AT))
                        .append(" = ?, ");
            default ->
                set.append(attempts)
                        .append(" = ")
                        .append(statuses == null ? atLeast(attempts + " + ?", layout.maxAttempts()) : attempts + " + ?")
                        .append(", ")
                        .append(column(statuses == null ? LayoutColumn.AVAILABLE_AT : endTime(status)))
                        .append(" = ?, ");
        }
        if (has(LayoutColumn.LAST_ERROR)) {
            set.append(column(LayoutColumn.LAST_ERROR)).append(status == EventStatus.DONE ? " = NULL, " : " = ?, ");
        }
        if (setsUpdated(status)) {
            set.append(column(LayoutColumn.UPDATED_AT)).append(" = ?, ");
        }
        return set.substring(0, set.length() - 2);
    }

    /** Binds what {@link #set} asks for. */
    void bindMark(Binder binder, EventStatus status, int counted, @Nullable Instant time, String error, Instant now)
            throws SQLException {
        if (status == EventStatus.DONE) {
            if (has(LayoutColumn.DONE_AT)) {
                binder.time(plain(LayoutColumn.DONE_AT), time);
            }
        } else {
            boolean retry = status == EventStatus.RETRY;
            LayoutColumn when = retry || statuses == null ? LayoutColumn.AVAILABLE_AT : endTime(status);
            binder.number(counted).time(plain(when), time);
            if (has(LayoutColumn.LAST_ERROR)) {
                binder.text(ErrorText.clean(error));
            }
        }
        if (setsUpdated(status)) {
            binder.time(plain(LayoutColumn.UPDATED_AT), now);
        }
    }

    /** Unless it is the time of the end, which is set anyway. */
    private boolean setsUpdated(EventStatus status) {
        return has(LayoutColumn.UPDATED_AT)
                && !(status == EventStatus.DEAD && endTime(status) == LayoutColumn.UPDATED_AT);
    }

    /** The assignment, after a comma, that keeps an event pending which is given back: the run that was recorded may have been its last. Empty where a status tells. */
    String staysPending() {
        String attempts = column(LayoutColumn.ATTEMPTS);
        return statuses == null ? ", " + attempts + " = " + atMost(attempts, layout.maxAttempts() - 1) : "";
    }

    /** The assignments that make a finished event pending again. Binds: {@link #bindReset}. */
    String reset() {
        return (statuses == null
                        ? column(LayoutColumn.DONE_AT) + " = NULL, "
                        : column(LayoutColumn.STATUS) + " = " + newStatus() + ", "
                                + (has(LayoutColumn.DONE_AT) ? column(LayoutColumn.DONE_AT) + " = NULL, " : ""))
                + column(LayoutColumn.ATTEMPTS) + " = 0, " + column(LayoutColumn.AVAILABLE_AT) + " = ?"
                + (has(LayoutColumn.LAST_ERROR) ? ", " + column(LayoutColumn.LAST_ERROR) + " = NULL" : "")
                + (has(LayoutColumn.UPDATED_AT) ? ", " + column(LayoutColumn.UPDATED_AT) + " = ?" : "");
    }

    void bindReset(Binder binder, Instant due, Instant now) throws SQLException {
        binder.time(plain(LayoutColumn.AVAILABLE_AT), due);
        if (has(LayoutColumn.UPDATED_AT)) {
            binder.time(plain(LayoutColumn.UPDATED_AT), now);
        }
    }

    /** What stands in the status of an event that was just written. */
    String newStatus() {
        return Objects.requireNonNull(Objects.requireNonNull(statuses).get(EventStatus.NEW));
    }

    private static String atMost(String value, int most) {
        return "LEAST(" + value + ", " + most + ")";
    }

    private static String atLeast(String value, int least) {
        return "GREATEST(" + value + ", " + least + ")";
    }
}
