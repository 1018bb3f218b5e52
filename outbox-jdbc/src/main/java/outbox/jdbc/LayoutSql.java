package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.claim.LayoutFence;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;
import outbox.spi.ErrorText;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/** The SQL of a layout for a database: quoted names, and statuses as conditions and assignments. */
final class LayoutSql {

    private final TableLayout layout;
    private final Dialect dialect;
    private final boolean standard;
    private final @Nullable Map<EventStatus, String> statuses;

    private LayoutSql(TableLayout layout, Dialect dialect, boolean standard) {
        this.layout = layout;
        this.dialect = dialect;
        this.standard = standard;
        this.statuses = layout.statuses();
    }

    /** Creates the SQL of a layout. Names are quoted. */
    static LayoutSql of(TableLayout layout, Dialect dialect) {
        return new LayoutSql(layout, dialect, false);
    }

    /**
     * Creates the SQL of the standard table. Names are not quoted, so that they mean the same as in the SQL of the
     * user. An event that is finally delivered keeps its last error.
     */
    static LayoutSql standard(String table, Dialect dialect) {
        return new LayoutSql(TableLayout.specification(table), dialect, true);
    }

    boolean isPostgres() {
        return dialect instanceof PostgresDialect;
    }

    boolean has(LayoutColumn column) {
        return layout.has(column);
    }

    /** Returns the quoted name of a column. */
    String column(LayoutColumn column) {
        return quoted(layout.column(column));
    }

    /** Returns the name of a column as {@link TableColumns} uses it. */
    String plain(LayoutColumn column) {
        return layout.column(column).toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the quoted name of a table; schema and table are quoted separately. A name that is already quoted is
     * not changed. H2 stores unquoted names in upper case.
     */
    String table(TableName name) {
        int dot = name.value().indexOf('.');
        return dot < 0
                ? quoted(name.value())
                : quoted(name.value().substring(0, dot)) + "." + quoted(name.simpleName());
    }

    private String quoted(String name) {
        return standard ? name : dialect.quoted(name);
    }

    /** Returns the fence of a table with a column for the token of a claim. */
    LayoutFence fenceByToken() {
        return new LayoutFence.ByToken(
                column(LayoutColumn.LOCKED_BY), column(LayoutColumn.LOCKED_AT), plain(LayoutColumn.LOCKED_AT));
    }

    /** Returns the fence of a table where the time of the lock identifies a claim. */
    LayoutFence fenceByTime() {
        return new LayoutFence.ByTime(column(LayoutColumn.LOCKED_AT), plain(LayoutColumn.LOCKED_AT));
    }

    /** Returns the parameter for a value that is bound as text, for a column of any type. */
    String parameter(TableColumns shape, LayoutColumn column) {
        return dialect.textParameter(shape.typeOf(plain(column)));
    }

    /** Returns the condition that the event is neither delivered nor dead. */
    String isPending() {
        return statuses == null
                ? notDone() + " AND " + column(LayoutColumn.ATTEMPTS) + " < " + layout.maxAttempts()
                : notDone();
    }

    /**
     * Returns {@link #isPending} as separate conditions, each served by an index that begins with the status. InnoDB
     * locks every row that it has to sort.
     */
    List<String> pendingParts() {
        return statuses == null
                ? List.of(isPending())
                : List.of(
                        column(LayoutColumn.STATUS) + " = " + newStatus(),
                        column(LayoutColumn.STATUS) + " = " + statuses.get(EventStatus.RETRY));
    }

    /**
     * Returns the condition that a claimed event is not finished. It does not use the attempts, because the last run
     * may be recorded before it starts. The expression deliberately matches no index, because claimed rows are found
     * by id. PostgreSQL would underestimate a partial index that still has entries for all events finished since the
     * last vacuum. H2 would wait for rows that it only passes in the index.
     */
    String isUnfinished() {
        return standard ? "status + 0 IN (0, 2)" : "CASE WHEN " + notDone() + " THEN 1 END = 1";
    }

    String notDone() {
        return statuses == null
                ? column(LayoutColumn.DONE_AT) + " IS NULL"
                : column(LayoutColumn.STATUS) + " IN (" + statuses.get(EventStatus.NEW) + ", "
                        + statuses.get(EventStatus.RETRY) + ")";
    }

    /** Returns the condition that the event is delivered or dead. */
    String is(EventStatus terminal) {
        if (statuses != null) {
            return column(LayoutColumn.STATUS) + " = " + statuses.get(terminal);
        }
        return terminal == EventStatus.DONE
                ? column(LayoutColumn.DONE_AT) + " IS NOT NULL"
                : column(LayoutColumn.DONE_AT) + " IS NULL AND " + column(LayoutColumn.ATTEMPTS) + " >= "
                        + layout.maxAttempts();
    }

    /** Returns the condition that the event is pending, for a statement that finds it by id. */
    String isPendingById() {
        return standard ? isUnfinished() : isPending();
    }

    /** Returns the condition that the event is pending and that the table records no claim of it. */
    String isFreeById() {
        return isPendingById() + isFree();
    }

    /** Returns the condition that the event failed, will be retried and is not claimed. */
    String isRetryAndFree() {
        String retry = statuses == null
                ? isPending() + " AND " + column(LayoutColumn.ATTEMPTS) + " > 0"
                : column(LayoutColumn.STATUS) + " = " + statuses.get(EventStatus.RETRY);
        return retry + isFree();
    }

    private String isFree() {
        return has(LayoutColumn.LOCKED_AT) ? " AND " + column(LayoutColumn.LOCKED_AT) + " IS NULL" : "";
    }

    /** Returns SQL for the status code of the specification. */
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

    /** Returns the condition that the event is due. Binds: now, as available_at. */
    String isDue() {
        String due = column(LayoutColumn.AVAILABLE_AT);
        return layout.isDueWhenNull() ? "(" + due + " IS NULL OR " + due + " <= ?)" : due + " <= ?";
    }

    /** Sorts by due time, oldest first. The database decides where events without a due time are placed. */
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

    /**
     * Returns the column that determines the age of a finished event. A dead event without such a time is as old as
     * its row.
     */
    LayoutColumn endTime(EventStatus terminal) {
        if (has(LayoutColumn.DONE_AT) && (statuses != null || terminal == EventStatus.DONE)) {
            return LayoutColumn.DONE_AT;
        }
        return has(LayoutColumn.UPDATED_AT) ? LayoutColumn.UPDATED_AT : LayoutColumn.CREATED_AT;
    }

    /**
     * Whether it is certain that the table has an index that begins with this time and contains only
     * finished events.
     */
    boolean isIndexed(LayoutColumn end) {
        return statuses == null && end == LayoutColumn.DONE_AT;
    }

    /**
     * Returns the assignments of a mark without the lock columns, and without a leading or trailing comma.
     * Binds: {@link #bindMark}.
     */
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
        if (has(LayoutColumn.LAST_ERROR) && !(standard && status == EventStatus.DONE)) {
            set.append(column(LayoutColumn.LAST_ERROR)).append(status == EventStatus.DONE ? " = NULL, " : " = ?, ");
        }
        if (setsUpdated(status)) {
            set.append(column(LayoutColumn.UPDATED_AT)).append(" = ?, ");
        }
        return set.substring(0, set.length() - 2);
    }

    /** Returns the time that a mark writes: the end of the event, or when a retry is due. Null means due at once. */
    @Nullable
    Instant timeOf(EventStatus status, Duration retryAfter, Instant now) {
        boolean atOnce = status == EventStatus.RETRY && retryAfter.isZero();
        return atOnce && layout.isDueWhenNull() ? null : now.plus(retryAfter);
    }

    /** Binds the parameters of {@link #set}. */
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

    /** Whether a mark sets the update time separately. It does not if that column is also the end time. */
    private boolean setsUpdated(EventStatus status) {
        return has(LayoutColumn.UPDATED_AT)
                && !(status == EventStatus.DEAD && endTime(status) == LayoutColumn.UPDATED_AT);
    }

    /**
     * Returns the assignment, after a comma, that keeps a released event pending: the recorded run may have been its
     * last one. Empty if the table has a status column.
     */
    String staysPending() {
        String attempts = column(LayoutColumn.ATTEMPTS);
        return statuses == null ? ", " + attempts + " = " + atMost(attempts, layout.maxAttempts() - 1) : "";
    }

    /** Returns the assignments that make a finished event pending again. Binds: {@link #bindReset}. */
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

    /** Returns the status value of an event that was just written. */
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
