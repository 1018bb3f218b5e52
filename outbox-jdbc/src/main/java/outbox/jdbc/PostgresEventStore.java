package outbox.jdbc;

import outbox.EventEnvelope;
import outbox.jdbc.ContentSql.Reading;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ErrorText;
import outbox.spi.Mark;
import outbox.spi.Withheld;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * PostgreSQL 12 or newer: what is claimed is locked, leased and read by a single statement, and an id that was given and exists does not abort the caller's transaction.
 *
 * <p>Claims, the question about order and that for the next due time leave settings of the planner behind, until the end of their transaction. None of them is part of a business transaction.
 */
public final class PostgresEventStore extends AbstractJdbcEventStore {

    /**
     * What keeps the planner from any way but one: along an index, and event by event to its place. So one plan is made and kept, whatever the size of the table then. It may look costly, for
     * a limit that is not known yet or a sort that cannot be avoided, which is no reason to compile it.
     */
    private static final String BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; "
            + "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_sort = off; "
            + "SET LOCAL enable_nestloop = on; SET LOCAL jit = off; SET LOCAL plan_cache_mode = force_generic_plan";

    /** PostgreSQL cuts a longer one, and then takes it for another that is there. */
    static final int MAX_NAME = 63;

    private static final int LARGE_JSON = 16 << 20; // stored, its text has more than a payload may

    private static final int FIRST_WITH_RANGES_OF_BLOCKS = 14;

    private final EndedBlocks endedBlocks = new EndedBlocks(this);
    private final PostgresIsolation isolation = new PostgresIsolation();
    private volatile boolean backlog; // the last claim was full: the next one looks by priority first

    public PostgresEventStore() {
        this(DEFAULT_TABLE);
    }

    public PostgresEventStore(String tableName) {
        super(tableName);
    }

    @Override
    public String name() {
        return "postgresql";
    }

    @Override
    public List<String> jdbcUrlPrefixes() {
        return List.of("jdbc:postgresql:");
    }

    @Override
    public void prepare(Connection conn) throws SQLException {
        isolation.readCommitted(conn);
    }

    @Override
    protected String nowSql(boolean zoned) {
        return zoned ? "clock_timestamp()" : "clock_timestamp() AT TIME ZONE 'UTC'";
    }

    @Override
    protected String jsonParameter(String columnType) {
        return columnType.startsWith("json") ? "CAST(? AS " + columnType + ")" : "?";
    }

    /**
     * PostgreSQL answers the COMMIT of a transaction in which a statement failed with a rollback, and the driver does not tell: if business code swallowed that failure, its events
     * would be delivered though they do not exist. The driver knows the state of the transaction, so asking costs nothing.
     */
    @Override
    public void checkCommit(Connection conn) {
        boolean failed = run("tell whether the transaction can commit", () -> PostgresTransaction.hasFailed(conn));
        if (failed) {
            throw new EventStoreException(
                    "A statement of this transaction failed, so PostgreSQL will roll it back instead of committing. Do not swallow the failure of a statement: roll back, or use a savepoint.",
                    null);
        }
    }

    @Override
    String secondsParameter() {
        return "to_timestamp(?)";
    }

    @Override
    String afterInsert(int rows) {
        return "ON CONFLICT (event_id) DO NOTHING" + (rows == 1 ? "" : " RETURNING event_id");
    }

    /**
     * Also looks for the table of events that use delivery control, and whether rows tell who wrote them. The name of
     * that table comes from the catalogs of this moment, its parent from those that the transaction sees: if they
     * disagree, it is too early to tell.
     */
    @Override
    TableShape readShape(Connection conn) throws SQLException {
        TableShape shape = super.readShape(conn);
        String beside = besideFor(table(), "control");
        boolean isCut = beside.length() - beside.indexOf('.') > MAX_NAME; // it would mean another table
        // Binds: name of the table beside, names of both, name of the table.
        String sql = """
                SELECT to_regclass(?) IS NOT NULL,
                       EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent = to_regclass(?) AND inhrelid = to_regclass(?)),
                       EXISTS (SELECT 1
                                 FROM pg_class c
                                 JOIN pg_am a ON a.oid = c.relam
                                WHERE c.oid = to_regclass(?)
                                  AND c.relkind = 'r'
                                  AND NOT c.relhasrules
                                  AND a.amname = 'heap')
                """;
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            select.setString(1, beside);
            select.setString(2, table().value());
            select.setString(3, beside);
            select.setString(4, table().value());
            try (ResultSet row = select.executeQuery()) {
                row.next();
                if (row.getBoolean(3)) {
                    shape = shape.withWriters();
                }
                if (isCut) {
                    return shape;
                }
                if (row.getBoolean(2)) {
                    return shape.withControlTable(new TableName(beside));
                }
                if (row.getBoolean(1)) {
                    throw new EventStoreException(
                            "Table " + beside + " does not inherit from " + table()
                                    + ", or did not when this transaction began. Try again, or give it another name.",
                            null);
                }
                return shape;
            }
        }
    }

    /** The name of what {@code V2__outbox_order.sql} and {@code V3__outbox_control.sql} make beside a table. */
    static String besideFor(TableName table, String what) {
        return table.value() + "_" + what;
    }

    /**
     * An error would abort the caller's transaction, so a row that exists is passed over and missed in the answer
     * instead. Where no row can exist, that would only cost time.
     *
     * <p>A transaction of {@link JdbcTransactionManager} sees its savepoints. In any other one each row returns whether
     * the transaction itself wrote it, or a part of it that began with a savepoint: such a part has an id of its own.
     */
    @Override
    boolean insertChunk(Connection conn, String sql, List<EventEnvelope> events, boolean fresh, Binding binding)
            throws SQLException {
        if (fresh && travelsWithCommit(conn, sql, events.size(), binding)) {
            return false;
        }
        boolean tells = TxScope.of(conn) == null && shape(conn).tellsWriters();
        if (fresh) {
            return insertFresh(conn, tells ? returning(conn, sql, events.size(), " RETURNING ") : sql, events, binding);
        }
        return insertGiven(conn, sql, events, tells, binding);
    }

    private boolean insertGiven(Connection conn, String sql, List<EventEnvelope> events, boolean tells, Binding binding)
            throws SQLException {
        boolean one = events.size() == 1;
        String text = tells ? returning(conn, sql, events.size(), one ? " RETURNING event_id, " : ", ") : sql;
        List<String> inserted = new ArrayList<>();
        boolean lasting = tells;
        try (PreparedStatement insert = conn.prepareStatement(text)) {
            binding.bind(insert);
            if (one && !tells) {
                if (insert.executeUpdate() == 1) { // the count costs less than an answer
                    return false;
                }
            } else {
                try (ResultSet rows = insert.executeQuery()) {
                    while (rows.next()) {
                        inserted.add(rows.getString(1));
                        lasting &= tells && rows.getBoolean(2);
                    }
                }
            }
        }
        if (inserted.size() < events.size()) {
            if (!inserted.isEmpty()) {
                delete(conn, inserted);
            }
            throw duplicate(
                    events.stream()
                            .map(EventEnvelope::eventId)
                            .filter(id -> !inserted.contains(id))
                            .toList(),
                    null);
        }
        return lasting;
    }

    private boolean insertFresh(Connection conn, String sql, List<EventEnvelope> events, Binding binding)
            throws SQLException {
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            binding.bind(insert);
            if (!insert.execute()) {
                return false;
            }
            int lasting = 0;
            try (ResultSet rows = insert.getResultSet()) {
                while (rows.next()) {
                    lasting += rows.getBoolean(1) ? 1 : 0;
                }
            }
            return lasting == events.size();
        } catch (SQLException e) {
            if (isDuplicateKey(e)) { // of which event cannot be asked: the transaction has failed
                throw duplicate(events.stream().map(EventEnvelope::eventId).toList(), e);
            }
            throw e;
        }
    }

    private record Returning(String sql) {}

    /** The INSERT, which also returns whether the transaction itself wrote the row; a row has the lower half of its id. */
    private String returning(Connection conn, String sql, int rows, String with) throws SQLException {
        return rows == 1 ? shape(conn).text(new Returning(sql), () -> returning(sql, with)) : returning(sql, with);
    }

    private static String returning(String sql, String with) {
        return sql.stripTrailing() + with + "xmin::text = (txid_current() & 4294967295)::text";
    }

    /** Nothing depends on the answer, so in a transaction of {@link JdbcTransactionManager} the insert need not cost a round trip of its own. */
    private boolean travelsWithCommit(Connection conn, String sql, int rows, Binding binding) throws SQLException {
        TxScope scope = TxScope.of(conn);
        if (scope == null || !PostgresTransaction.commitsByText(scope.physical())) {
            return false;
        }
        String andCommit = rows == 1 ? shape(conn).text(sql, () -> andCommit(sql)) : andCommit(sql);
        return scope.postpone(new WaitingInsert(sql, andCommit, binding));
    }

    private static String andCommit(String sql) {
        return sql.stripTrailing() + ";\nCOMMIT";
    }

    @Override
    public List<ClaimedEvent> claimUnread(
            Connection conn,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering,
            Withheld withheld,
            Content content) {
        WithheldSql except = new WithheldSql(withheld);
        return run("claim events" + (ordering.isOn() ? " in order" : ""), () -> {
            TableShape shape = ordering.isOn() ? order().require(conn) : shape(conn);
            List<EventRows.Candidate> taken = new ArrayList<>();
            if (shape.has("priority")) {
                int byPriority = priorities.of(limit);
                int byAge = limit - byPriority;
                if (byAge > 0 && !backlog) {
                    taken.addAll(take(
                            conn, shape, false, claim, now, lockExpiry, skipRecent, byAge, ordering, except, content));
                    if (taken.size() < byAge) { // all that is due, whatever its priority
                        return claimed(taken, claim);
                    }
                }
                if (byPriority > 0) {
                    taken.addAll(take(
                            conn,
                            shape,
                            true,
                            claim,
                            now,
                            lockExpiry,
                            skipRecent,
                            byPriority,
                            ordering,
                            except,
                            content));
                }
            }
            if (taken.size() < limit) {
                int most = limit - taken.size();
                taken.addAll(
                        take(conn, shape, false, claim, now, lockExpiry, skipRecent, most, ordering, except, content));
            }
            backlog = taken.size() == limit;
            return claimed(taken, claim);
        });
    }

    /**
     * Binds: now, latest created_at, lock expiry, what is withheld, those of the order, limit, token, now, lock expiry. A materialised CTE, not {@code IN (SELECT … LIMIT)}: the planner may run a sub-select
     * again and claim more than asked. RETURNING promises no order; the caller sorts. The look at other events of an aggregate takes no lock and waits for none.
     *
     * <p>The claim walks along its index. The entries of events that are done stay there until a vacuum. A scan of the index marks them as it meets them, and the next one passes over them; a
     * bitmap of the index, which the planner takes for a few events in need of a sort, would look up each of them in the table again, every time.
     *
     * <p>What was locked is updated in its place, not looked for once more; for hundreds of events the planner would even read the whole table. A place counts within its
     * partition only. An event that was changed by others between the look at it and its lock is no longer where this statement can see it: it is left to the next claim, and this one is
     * not full.
     */
    @SuppressWarnings("TooManyParameters") // of the claim, and which part of it
    private List<EventRows.Candidate> take(
            Connection conn,
            TableShape shape,
            boolean byPriority,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering,
            WithheldSql except,
            Content content)
            throws SQLException {
        boolean idsOnly = content == Content.IDS;
        String sql = shape.text(
                except.text(
                        OrderStatements.Text.of("claim " + content + (byPriority ? " by priority" : ""), ordering, 0)),
                () -> """
                WITH due AS MATERIALIZED (
                    SELECT e.tableoid AS part, e.ctid AS place, e.locked_by, e.locked_at
                      FROM %1$s AS e
                     WHERE e.status IN (0, 2)
                       AND e.available_at <= ?
                       AND %7$s
                       AND %8$s
                       %3$s
                       %6$s
                       %4$s
                     ORDER BY %5$s
                     LIMIT ?
                       FOR UPDATE OF e SKIP LOCKED
                )
                UPDATE %1$s AS e
                   SET locked_by = ?, locked_at = ?
                  FROM due
                 WHERE e.ctid = due.place
                   AND e.tableoid = due.part
                   AND e.status + 0 IN (0, 2)
                   AND %8$s
                RETURNING %2$s, due.locked_by
                """.formatted(
                                byPriority ? controlTable(shape) : table(),
                                idsOnly
                                        ? "e.event_id, " + TableShape.isLeaseFault("due.locked_at") + " AS lease_fault"
                                        : columns(shape, "e.", Reading.SMALL) + ", due.locked_at AS was_locked_at",
                                byPriority ? "AND e.priority IS NOT NULL" : "",
                                ordering.isOn() ? "AND " + order().isNext(ordering) : "",
                                byPriority ? "e.priority DESC, e.available_at" : "e.available_at, e.created_at",
                                except.condition("e."),
                                isOld("e.created_at"),
                                isFree("e.locked_at")));
        return queryByIndex(
                conn,
                sql,
                binder -> {
                    binder.time("available_at", now)
                            .time("created_at", latestCreation(now, skipRecent))
                            .time("locked_at", lockExpiry);
                    except.bind(binder);
                    if (ordering.isOn()) {
                        order().bindNext(binder, ordering);
                    }
                    binder.number(limit)
                            .text(claim.token())
                            .time("locked_at", now)
                            .time("locked_at", lockExpiry);
                },
                row -> idsOnly ? EventRows.unread(row) : EventRows.candidate(row, shape));
    }

    /**
     * The size of JSON is that of its text. To make it takes memory of the server, so what is large in any case is
     * not asked.
     */
    @Override
    String byteSize(String column, String type) {
        return type.startsWith("json")
                ? "CASE WHEN pg_column_size(" + column + ") > " + LARGE_JSON + " THEN pg_column_size(" + column
                        + ") ELSE octet_length(CAST(" + column + " AS text)) END"
                : super.byteSize(column, type);
    }

    /** Tells the driver not to keep the statement prepared: the plan that the server would keep for it was made when the table was small, and reads it as a whole. */
    @Override
    <T> List<T> queryAnew(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            PostgresStatement.planEachTime(select);
            return query(conn, select, binds, mapper);
        }
    }

    @Override
    <T> List<T> queryHeld(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        return PostgresLimits.query(this, conn, sql, binds, mapper);
    }

    @Override
    int updateHeld(Connection conn, String sql, Binds binds) throws SQLException {
        return PostgresLimits.update(this, conn, sql, binds);
    }

    /** Changes settings for the rest of the transaction, in the round trip of the statement. */
    @Override
    <T> List<T> queryByIndex(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        int millis = PostgresLimits.networkMillis(conn);
        String text = shape(conn)
                .text(new ByIndex(sql, millis), () -> BY_INDEX + ";\n" + PostgresLimits.settings(millis) + sql);
        try (PreparedStatement statements = conn.prepareStatement(text)) {
            binds.to(new Binder(statements, shape(conn)));
            return PostgresLimits.rows(statements, mapper);
        }
    }

    private record ByIndex(String sql, int networkMillis) {}

    @Override
    int updateAnew(Connection conn, String sql, Binds binds) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            PostgresStatement.planEachTime(update);
            return update(conn, update, binds);
        }
    }

    @Override
    Set<String> deleteHeld(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        return queryHeldIds(
                conn,
                "DELETE FROM %1$s WHERE %2$s AND locked_by = ? AND status + 0 IN (0, 2) RETURNING event_id",
                eventIds,
                binder -> binder.text(token));
    }

    /** Binds: now, ids, tokens, whether to count the attempt, microseconds to add to now, errors. */
    @Override
    Set<String> markFailed(Connection conn, EventStatus status, List<Mark> marks, Instant now) throws SQLException {
        TableShape shape = shape(conn);
        String timeColumn = failureTime(status);
        String sql = shape.text("mark " + status, () -> """
                UPDATE %1$s AS e
                   SET status = %2$d, attempts = e.attempts + m.counted, %3$s = CAST(? AS %4$s) + m.wait * INTERVAL '1 microsecond',
                       last_error = m.error, locked_by = NULL, locked_at = NULL
                  FROM unnest(CAST(? AS varchar[]), CAST(? AS varchar[]), CAST(? AS int[]), CAST(? AS bigint[]), CAST(? AS text[]))
                       AS m (event_id, token, counted, wait, error)
                 WHERE e.event_id = m.event_id
                   AND e.locked_by = m.token
                   AND e.status + 0 IN (0, 2)
                RETURNING e.event_id
                """.formatted(
                        table(), status.code(), timeColumn, shape.isZoned(timeColumn) ? "timestamptz" : "timestamp"));
        List<String> written = queryHeld(
                conn,
                sql,
                binder -> binder.time(timeColumn, now)
                        .array(marks.stream().map(Mark::eventId).toList())
                        .array(marks.stream().map(Mark::token).toList())
                        .array(
                                "int4",
                                marks.stream()
                                        .map(mark -> mark.countsAttempt() ? 1 : 0)
                                        .toList())
                        .array(
                                "int8",
                                marks.stream()
                                        .map(mark -> TimeUnit.NANOSECONDS.toMicros(
                                                mark.retryAfter().toNanos()))
                                        .toList())
                        .array(marks.stream()
                                .map(mark -> ErrorText.clean(mark.error()))
                                .toList()),
                row -> row.getString(1));
        return Set.copyOf(written);
    }

    @Override
    KeyStatements newKeys() {
        return new PostgresKeys(this);
    }

    @Override
    protected String passOverDuplicate() {
        return "ON CONFLICT DO NOTHING";
    }

    @Override
    protected String lockCandidates() {
        return "FOR UPDATE SKIP LOCKED";
    }

    @Override
    protected String plusMillis(String time, String millis) {
        return time + " + " + millis + " * INTERVAL '1 millisecond'";
    }

    /** A statement sees what was committed before it, so a lock would only get in the way of the delivery. */
    @Override
    String lockRow() {
        return "";
    }

    @Override
    boolean dueIndexStartsWithStatus() {
        return false;
    }

    /** Only from 14 on does the server read a part of a table by its blocks. */
    @Override
    List<String> findEnded(Connection conn, EventStatus terminal, Instant doneBefore, int limit) throws SQLException {
        Optional<List<String>> found = conn.getMetaData().getDatabaseMajorVersion() < FIRST_WITH_RANGES_OF_BLOCKS
                ? Optional.empty()
                : endedBlocks.find(conn, shape(conn), terminal, doneBefore, limit);
        return found.isPresent() ? found.get() : super.findEnded(conn, terminal, doneBefore, limit);
    }

    @Override
    boolean findsLastDirectly() {
        return true;
    }

    @Override
    boolean sortsByNull() {
        return true;
    }

    @Override
    boolean hasTable(Connection conn, TableName name) throws SQLException {
        try (PreparedStatement select = conn.prepareStatement("SELECT to_regclass(?) IS NOT NULL")) {
            select.setString(1, name.value());
            try (ResultSet row = select.executeQuery()) {
                return row.next() && row.getBoolean(1);
            }
        }
    }

    @Override
    boolean idsInArray() {
        return true;
    }

    @Override
    protected String idCondition(int count) {
        return "event_id = ANY (?)";
    }

    @Override
    void bindIds(Binder binder, List<String> ids) throws SQLException {
        binder.array(ids);
    }
}
