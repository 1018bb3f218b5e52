package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.admin.Attempt;
import outbox.admin.AuditEntry;
import outbox.admin.Backlog;
import outbox.admin.BlockedAggregate;
import outbox.admin.ClaimHolder;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.Pause;
import outbox.admin.PauseScope;
import outbox.admin.TypeCount;
import outbox.jdbc.ContentSql.Reading;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.order.Ordering;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.ReconcileStatus;
import outbox.spi.AdminEventStore;
import outbox.spi.AttemptEventStore;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ControlledEventStore;
import outbox.spi.ErrorText;
import outbox.spi.LoadingEventStore;
import outbox.spi.Mark;
import outbox.spi.NamedEventStore;
import outbox.spi.OrderedEventStore;
import outbox.spi.Position;
import outbox.spi.PriorityShare;
import outbox.spi.ReconcilingEventStore;
import outbox.spi.Replay;
import outbox.spi.RowLockingEventStore;
import outbox.spi.Withheld;
import outbox.spi.WithholdingEventStore;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The SQL that all databases share, and a claim that works on any of them: read candidates, then take them with a conditional UPDATE that alone decides who owns an event. A
 * database overrides a whole statement where it can do better.
 *
 * <p>The class is longer than others because it is the contract of a store as a whole, statement by statement. The store looks at the table once, on first use, and uses the columns beyond the specification's 15 that it finds. It keeps no connection and is thread-safe.
 */
public abstract class AbstractJdbcEventStore extends JdbcTable
        implements OrderedEventStore,
                ControlledEventStore,
                AdminEventStore,
                WithholdingEventStore,
                AttemptEventStore,
                RowLockingEventStore,
                LoadingEventStore,
                ReconcilingEventStore,
                NamedEventStore {

    /** The table of a store that is given none. */
    public static final String DEFAULT_TABLE = "outbox_event";

    /** Whether e is due and nobody holds it. Binds: now, latest created_at, lock expiry. */
    private static final String IS_FREE =
            "e.available_at <= ? AND " + isOld("e.created_at") + " AND " + isFree("e.locked_at");

    /** Larger priorities first, then by due time. */
    private static final Comparator<EventRows.Candidate> BY_URGENCY = Comparator.comparing(
                    EventRows.Candidate::priority)
            .reversed()
            .thenComparing(EventRows.Candidate::availableAt)
            .thenComparing(candidate -> candidate.event().createdAt());

    private final ContentSql contentSql = new ContentSql(this, "payload");
    private final HeldEventStatements held;
    private final OrderStatements order;
    private final ControlStatements control;
    private final KeyStatements keys;
    final PriorityShare priorities = new PriorityShare();
    private final AdminStatements admin;
    private final EndedIds ended = new EndedIds();
    private final AuditStatements audit;
    private final PauseStatements pauses;
    private final AttemptStatements attempts;
    private final ReconcileStatements reconcile;

    protected AbstractJdbcEventStore(String tableName) {
        super(new TableName(tableName));
        this.held = new HeldEventStatements(this);
        this.order = new OrderStatements(this);
        this.control = new ControlStatements(this);
        this.keys = newKeys();
        this.attempts = new AttemptStatements(this);
        this.admin = new AdminStatements(this, attempts);
        this.audit = new AuditStatements(this);
        this.pauses = new PauseStatements(this);
        this.reconcile = new ReconcileStatements(this);
    }

    @Override
    public final String tableName() {
        return table().value();
    }

    /** The name by which {@link JdbcEventStores#get} finds this store. */
    public abstract String name();

    /** How the URLs of this database begin, such as {@code jdbc:h2:}. */
    public abstract List<String> jdbcUrlPrefixes();

    /** SQL for the database's current time, with time zone or as local time in UTC. */
    protected abstract String nowSql(boolean zoned);

    /** Asks for the time of this very moment, in UTC. */
    String clockSql() {
        return "SELECT " + nowSql(false);
    }

    /** The parameter for a column of the given type that holds JSON as text. */
    protected String jsonParameter(String columnType) {
        return "?";
    }

    /** What makes the candidates of a claim invisible to other claims; empty if the database has nothing. */
    protected String lockCandidates() {
        return "";
    }

    /** Reads the candidates of a claim, and locks them if the database can. Binds: those of the condition on e, then {@link #bindLimit}. */
    String candidatesSql(String columns, String condition, String order) {
        return lookSql(columns, condition, order) + lockCandidates();
    }

    final String lookSql(String columns, String condition, String order) {
        return """
                SELECT %s
                  FROM %s e
                 WHERE %s
                 ORDER BY %s
                 LIMIT ?
                """.formatted(columns, table(), condition, order);
    }

    /** The condition is costly if it asks about other events. */
    void bindLimit(Binder binder, int limit, boolean costly) throws SQLException {
        binder.number(limit);
    }

    /** What makes an INSERT pass over a row whose key exists, where the error of a duplicate would abort the transaction; empty if it would not. */
    protected String passOverDuplicate() {
        return "";
    }

    /** How a time with zone is made of seconds since 1970 in a double; null if there is no such way, or no gain in it. */
    @Nullable
    String secondsParameter() {
        return null;
    }

    /** How the INSERT of so many events ends. */
    String afterInsert(int rows) {
        return "";
    }

    /** Whether an index is entered at the last row before a value; MySQL and MariaDB read it from its end. */
    boolean findsLastDirectly() {
        return false;
    }

    /** Whether the planner takes rows under the NULL of an index as sorted only if ORDER BY names that column. */
    boolean sortsByNull() {
        return false;
    }

    /** What makes the planner find other events of an aggregate by the index of the order; empty where it needs no such word. */
    String orderHint(Connection conn) throws SQLException {
        return "";
    }

    /** How the order of events is asked for. */
    final OrderStatements order() {
        return order;
    }

    /** How delivery is controlled. */
    final ControlStatements control() {
        return control;
    }

    /** Who has which key. */
    final KeyStatements keys() {
        return keys;
    }

    KeyStatements newKeys() {
        return new KeyStatements(this);
    }

    /** SQL for a time so many milliseconds after another. */
    protected String plusMillis(String time, String millis) {
        return "TIMESTAMPADD(MICROSECOND, " + millis + " * 1000, " + time + ")";
    }

    /** What makes a SELECT of one row wait for who changes it, and answer it as it is then. */
    String lockRow() {
        return "FOR UPDATE";
    }

    /** Whether the index of the claim has a part for each status. */
    boolean dueIndexStartsWithStatus() {
        return true;
    }

    /** Deletes those of the events that are DEAD. */
    int deleteDead(Connection conn, Collection<String> eventIds) throws SQLException {
        return updateIds(conn, """
                DELETE FROM %1$s
                 WHERE %2$s
                   AND status = 3
                """, eventIds, binder -> {}, binder -> {});
    }

    /** Deletes some events that ended before the given time; what others hold is passed over. */
    final int deleteTerminal(Connection conn, EventStatus terminal, Instant doneBefore, int limit) throws SQLException {
        String isEnded = "status = " + terminal.code() + " " + endedBefore(terminal, shape(conn));
        return ended.purge(terminal, limit, most -> findEnded(conn, terminal, doneBefore, most), ids -> {
            Set<String> locked = queryIds(
                    conn,
                    "SELECT event_id FROM %1$s" + byPrimaryKey() + " WHERE %2$s AND " + isEnded
                            + " FOR UPDATE SKIP LOCKED",
                    ids,
                    binder -> bindEndedBefore(binder, terminal, doneBefore));
            return deleteLocked(conn, locked);
        });
    }

    /** The ids of events that ended before the given time, {@code limit} of them if there are as many. */
    List<String> findEnded(Connection conn, EventStatus terminal, Instant doneBefore, int limit) throws SQLException {
        // Binds: those of the condition, limit.
        String sql = "SELECT event_id FROM " + table() + " WHERE status = " + terminal.code() + " "
                + endedBefore(terminal, shape(conn)) + " LIMIT ?";
        return query(
                conn,
                sql,
                binder -> bindEndedBefore(binder, terminal, doneBefore).number(limit),
                row -> row.getString(1));
    }

    /** Deletes events whose rows this transaction has locked. */
    int deleteLocked(Connection conn, Collection<String> eventIds) throws SQLException {
        delete(conn, eventIds);
        return eventIds.size();
    }

    /**
     * The condition of a purge, beginning with AND. No event is delivered before it is due, so the condition on available_at only lets the index (status, available_at, created_at) serve; an
     * exception, marked by hand, just goes later. A dead one may have expired before it was due, and keeps no key.
     */
    final String endedBefore(EventStatus terminal, TableShape shape) {
        return terminal == EventStatus.DONE
                ? "AND available_at < ? AND done_at < ? " + control.keyIsOver(shape)
                : "AND done_at < ?";
    }

    /** Binds: latest available_at of a DONE event, latest done_at. */
    static Binder bindEndedBefore(Binder binder, EventStatus terminal, Instant doneBefore) throws SQLException {
        if (terminal == EventStatus.DONE) {
            binder.time("available_at", doneBefore);
        }
        return binder.time("done_at", doneBefore);
    }

    /** Whether the error says that a row with this key exists. */
    protected boolean isDuplicateKey(SQLException error) {
        return SqlStates.of(error).equals("23505");
    }

    @Override
    public void prepare(Connection conn) throws SQLException {}

    @Override
    public void checkCommit(Connection conn) {}

    @Override
    public Instant now(Connection conn) {
        return run("read the database's clock", () -> {
            try (PreparedStatement select = conn.prepareStatement(clockSql());
                    ResultSet row = select.executeQuery()) {
                row.next();
                return row.getObject(1, LocalDateTime.class).toInstant(ZoneOffset.UTC);
            }
        });
    }

    // ---- writing ----

    @Override
    public void insertNew(Connection conn, EventEnvelope event) {
        insertAll(conn, List.of(event), null);
    }

    @Override
    public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        return run("insert events", () -> {
            EventInsert insert = new EventInsert(this, shapeFor(conn, events));
            insert.insert(conn, List.copyOf(events), birth, true);
            return insert.isLasting();
        });
    }

    @Override
    public Set<String> existing(Connection conn, Collection<String> eventIds) {
        return run("look for events", () -> present(conn, table().value(), eventIds));
    }

    @Override
    public Map<String, String> insertUnlessTaken(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        return run(
                "insert events",
                () -> new EventInsert(this, shapeFor(conn, events)).insert(conn, List.copyOf(events), birth, false));
    }

    /** Where events are inserted that have a priority or a deadline, and looked for by it. */
    final TableName controlTable(TableShape shape) {
        TableName own = shape.controlTable();
        return own == null ? table() : own;
    }

    /** Looks at the table again before an event is refused for what it lacks. */
    private TableShape shapeFor(Connection conn, List<EventEnvelope> events) throws SQLException {
        for (EventEnvelope event : events) {
            if (event.dedupKey() != null || ControlStatements.isControlled(event)) {
                return shapeWith(conn, "expires_at");
            }
        }
        return shape(conn);
    }

    /** Runs an INSERT of one row; false if its key, or its id, exists. */
    boolean insertIfFree(Connection conn, String sql, Binding binding) throws SQLException {
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            binding.bind(insert);
            return insert.executeUpdate() > 0;
        } catch (SQLException e) {
            if (isDuplicateKey(e)) {
                return false;
            }
            throw e;
        }
    }

    /** Binds what an insert needs. */
    @FunctionalInterface
    interface Binding {
        void bind(PreparedStatement statement) throws SQLException;
    }

    /**
     * Inserts the rows of one statement, all or none; an id that exists is a {@link DuplicateEventException}, and the transaction can go on.
     *
     * @param fresh no row can have one of the ids, unless somebody gave the id of such an event to another one; PostgreSQL's transaction cannot go on then
     * @return whether it is certain that no savepoint is set, so that only the end of the transaction can undo this
     */
    boolean insertChunk(Connection conn, String sql, List<EventEnvelope> events, boolean fresh, Binding binding)
            throws SQLException {
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            binding.bind(insert);
            insert.executeUpdate();
            return false;
        } catch (SQLException e) {
            if (isDuplicateKey(e)) {
                throw duplicate(existing(conn, events), e);
            }
            throw e;
        }
    }

    /** Which of the events are in the table; all of them if an old snapshot hides the one that is. */
    private List<String> existing(Connection conn, List<EventEnvelope> events) throws SQLException {
        List<String> ids = events.stream().map(EventEnvelope::eventId).toList();
        Set<String> found = present(conn, table().value(), ids);
        return found.isEmpty() ? ids : List.copyOf(found);
    }

    /** Which of the ids are in what a FROM may name. */
    final Set<String> present(Connection conn, String from, Collection<String> ids) throws SQLException {
        return queryIds(conn, "SELECT event_id FROM " + from + " WHERE %2$s", ids, binder -> {});
    }

    final DuplicateEventException duplicate(List<String> eventIds, @Nullable SQLException cause) {
        return new DuplicateEventException(
                eventIds.stream().limit(10).collect(Collectors.joining(", ")), table(), cause);
    }

    final void delete(Connection conn, Collection<String> eventIds) throws SQLException {
        updateIds(conn, "DELETE FROM %1$s WHERE %2$s", eventIds, binder -> {}, binder -> {});
    }

    // ---- marks of the specification: by event id ----

    @Override
    public int markDone(Connection conn, String eventId) {
        // Binds: done_at, event_id.
        String sql = """
                UPDATE %s
                   SET status = 1, done_at = ?, locked_by = NULL, locked_at = NULL
                 WHERE event_id = ?
                   AND status <> 1
                """.formatted(table());
        Instant now = now(conn);
        return update(
                conn,
                "mark event " + eventId + " DONE",
                sql,
                binder -> binder.time("done_at", now).text(eventId));
    }

    @Override
    public int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
        // Binds: available_at, last_error, event_id.
        String sql = """
                UPDATE %s
                   SET status = 2, attempts = attempts + 1, available_at = ?, last_error = ?,
                       locked_by = NULL, locked_at = NULL
                 WHERE event_id = ?
                   AND status <> 1
                """.formatted(table());
        return update(
                conn,
                "mark event " + eventId + " RETRY",
                sql,
                binder -> binder.time("available_at", nextAt)
                        .text(ErrorText.clean(error))
                        .text(eventId));
    }

    @Override
    public int markDead(Connection conn, String eventId, String error) {
        // Binds: last_error, done_at, event_id.
        String sql = """
                UPDATE %s
                   SET status = 3, last_error = ?, done_at = ?, locked_by = NULL, locked_at = NULL
                 WHERE event_id = ?
                   AND status <> 1
                """.formatted(table());
        Instant now = now(conn);
        return update(
                conn,
                "mark event " + eventId + " DEAD",
                sql,
                binder ->
                        binder.text(ErrorText.clean(error)).time("done_at", now).text(eventId));
    }

    // ---- reading and claiming ----

    @Override
    public List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
        // Binds: now, latest created_at, limit.
        return run("read pending events", () -> {
            String sql = """
                    SELECT %s
                      FROM %s
                     WHERE status IN (0, 2)
                       AND available_at <= ?
                       AND %s
                     ORDER BY created_at
                     LIMIT ?
                    """.formatted(columns(shape(conn), "", Reading.WHOLE), table(), isOld("created_at"));
            return query(
                    conn,
                    sql,
                    binder -> binder.time("available_at", now)
                            .time("created_at", latestCreation(now, skipRecent))
                            .number(limit),
                    row -> whole(row, shape(conn)));
        });
    }

    @Override
    public List<OutboxEvent> claimPending(
            Connection conn, String ownerId, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        Claim claim = new Claim(ownerId, Long.MAX_VALUE);
        return claim(conn, claim, now, lockExpiry, skipRecent, limit).stream()
                .map(ClaimedEvent::event)
                .toList();
    }

    @Override
    public List<ClaimedEvent> claim(
            Connection conn, Claim claim, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return claimExcept(conn, claim, now, lockExpiry, skipRecent, limit, Ordering.off(), Withheld.NOTHING);
    }

    @Override
    public List<ClaimedEvent> claimInOrder(
            Connection conn,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering) {
        return claimExcept(conn, claim, now, lockExpiry, skipRecent, limit, ordering, Withheld.NOTHING);
    }

    @Override
    public final List<ClaimedEvent> claimExcept(
            Connection conn,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering,
            Withheld withheld) {
        List<ClaimedEvent> claimed =
                claimUnread(conn, claim, now, lockExpiry, skipRecent, limit, ordering, withheld, Content.SMALL);
        return complete(claimed, ids -> load(conn, ids));
    }

    /** Loads what the claim left in the table. */
    static List<ClaimedEvent> complete(List<ClaimedEvent> claimed, Function<List<String>, List<OutboxEvent>> loading) {
        List<String> large = claimed.stream()
                .filter(event -> !event.complete())
                .map(event -> event.event().eventId())
                .toList();
        if (large.isEmpty()) {
            return claimed;
        }
        Map<String, OutboxEvent> loaded =
                loading.apply(large).stream().collect(Collectors.toMap(OutboxEvent::eventId, row -> row));
        return claimed.stream()
                .map(event -> new ClaimedEvent(
                        loaded.getOrDefault(event.event().eventId(), event.event()), event.claim(), event.suspect()))
                .toList();
    }

    /** The columns of an event, read as far as is said. */
    final String columns(TableShape shape, String prefix, Reading reading) {
        return contentSql.columns(shape, EventRows.columns(shape, prefix), reading);
    }

    /** The payload and headers of a table that is seen as one of ours. */
    final String wholeContent(TableShape shape) {
        return contentSql.columns(
                shape,
                List.of(
                        new ContentSql.Column("payload", "payload", "payload", true),
                        new ContentSql.Column("headers", "headers", "headers", false)),
                Reading.WHOLE);
    }

    /** An event of {@link Reading#WHOLE}. */
    final OutboxEvent whole(ResultSet row, TableShape shape) throws SQLException {
        OutboxEvent event = EventRows.event(row, shape);
        String fault = contentSql.fault(row, shape);
        return fault == null ? event : event.withFault(fault);
    }

    /** SQL for the bytes of a value; JSON counts as text. */
    String byteSize(String column, String type) {
        return "OCTET_LENGTH(" + column + ")";
    }

    @Override
    public Map<String, Long> sizes(Connection conn, Collection<String> eventIds) {
        return run("read the sizes of " + eventIds.size() + " events", () -> {
            TableShape shape = shape(conn);
            String sizes = contentSql.sizes(shape, EventRows.columns(shape, ""));
            Map<String, Long> found = new HashMap<>();
            readIds(
                    conn,
                    "SELECT event_id, " + sizes + " FROM %1$s" + byPrimaryKey() + " WHERE %2$s",
                    eventIds,
                    row -> found.put(row.getString("event_id"), contentSql.readBytes(row, shape)));
            return found;
        });
    }

    @Override
    public List<OutboxEvent> load(Connection conn, Collection<String> eventIds) {
        return run("read " + eventIds.size() + " events", () -> {
            TableShape shape = shape(conn);
            String columns = columns(shape, "", Reading.WHOLE);
            List<EventRows.Candidate> rows = new ArrayList<>();
            readIds(
                    conn,
                    "SELECT " + columns + " FROM %1$s" + byPrimaryKey() + " WHERE %2$s",
                    eventIds,
                    row -> rows.add(new EventRows.Candidate(whole(row, shape), null, true)));
            return rows.stream()
                    .sorted(BY_URGENCY)
                    .map(EventRows.Candidate::event)
                    .toList();
        });
    }

    @Override
    public List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
        return run("end events that are never due", () -> {
            List<String> ids = new ArrayList<>();
            for (String status : dueIndexStartsWithStatus() ? List.of("= 0", "= 2") : List.of("IN (0, 2)")) {
                // Binds: lock expiry, limit.
                String sql = shape(conn).text("never due " + status, () ->
                        """
                        SELECT event_id
                          FROM %s
                         WHERE status %s
                           AND available_at >= %s
                           AND %s
                         ORDER BY available_at
                         LIMIT ?
                         %s
                        """.formatted(table(), status, TableShape.NEVER_SQL, isFree("locked_at"), lockCandidates()));
                ids.addAll(queryByIndex(
                        conn,
                        sql,
                        binder -> binder.time("locked_at", lockExpiry).number(limit - ids.size()),
                        row -> row.getString(1)));
            }
            if (!ids.isEmpty()) {
                control.bury(conn, ids, now, lockExpiry, reason);
            }
            return ids;
        });
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
            Instant latestCreation = latestCreation(now, skipRecent);
            return claimCandidates(
                    conn,
                    claim,
                    now,
                    lockExpiry,
                    limit,
                    (by, most) ->
                            candidates(conn, by, now, lockExpiry, latestCreation, most, ordering, except, content));
        });
    }

    @Override
    public boolean lockDue(Connection conn, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return run("lock due events", () -> {
            List<String> due = new ArrayList<>(due(conn, By.NEW, now, lockExpiry, skipRecent, limit));
            due.addAll(due(conn, By.RETRY, now, lockExpiry, skipRecent, limit));
            String sql = "SELECT event_id FROM %1$s" + byPrimaryKey() + " WHERE %2$s FOR UPDATE SKIP LOCKED";
            return queryIds(conn, sql, due, binder -> {}).containsAll(due);
        });
    }

    /** Binds: now, latest created_at, lock expiry, limit. */
    private List<String> due(Connection conn, By by, Instant now, Instant lockExpiry, Duration skipRecent, int limit)
            throws SQLException {
        return queryAnew(
                conn,
                lookSql("e.event_id", by.condition + " AND " + IS_FREE, by.order),
                binder -> binder.time("available_at", now)
                        .time("created_at", latestCreation(now, skipRecent))
                        .time("locked_at", lockExpiry)
                        .number(limit),
                row -> row.getString(1));
    }

    @Override
    public List<String> endUntaken(
            Connection conn,
            Instant now,
            Instant dueBefore,
            Instant lockExpiry,
            int limit,
            Ordering ordering,
            Withheld except,
            String reason) {
        return run("end events that nobody took", () -> {
            List<String> ids = untaken(conn, dueBefore, lockExpiry, limit, ordering, new WithheldSql(except));
            updateHeldIds(
                    conn,
                    """
                    UPDATE %1$s
                       SET status = 3, done_at = ?, last_error = ?, locked_by = NULL, locked_at = NULL
                     WHERE %2$s
                       AND status + 0 = 0
                       AND attempts = 0
                       AND available_at <= ?
                       AND (locked_at IS NULL OR locked_at < ?)
                    """,
                    ids,
                    binder -> binder.time("done_at", now).text(reason),
                    binder -> binder.time("available_at", dueBefore).time("locked_at", lockExpiry));
            return ids;
        });
    }

    /** Binds: latest available_at, lock expiry, what is withheld, those of the order, limit. */
    private List<String> untaken(
            Connection conn, Instant dueBefore, Instant lockExpiry, int limit, Ordering ordering, WithheldSql except)
            throws SQLException {
        TableShape shape = ordering.isOn() ? order.require(conn) : shape(conn);
        String sql = shape.text(
                except.text(OrderStatements.Text.of("untaken", ordering, 0)),
                () -> candidatesSql(
                        "e.event_id",
                        "e.status = 0 AND e.attempts = 0 AND e.available_at <= ? AND (e.locked_at IS NULL OR e.locked_at < ?)"
                                + except.condition("e.")
                                + (ordering.isOn() ? " AND " + order.isNext(ordering) : ""),
                        "e.available_at, e.created_at"));
        return queryAnew(
                conn,
                sql,
                binder -> {
                    binder.time("available_at", dueBefore).time("locked_at", lockExpiry);
                    except.bind(binder);
                    if (ordering.isOn()) {
                        order.bindNext(binder, ordering);
                    }
                    bindLimit(binder, limit, ordering.isOn());
                },
                row -> row.getString(1));
    }

    private List<ClaimedEvent> claimCandidates(
            Connection conn, Claim claim, Instant now, Instant lockExpiry, int limit, Candidates source)
            throws SQLException {
        List<EventRows.Candidate> candidates = candidates(shape(conn), limit, source);
        Set<String> ids = candidates.stream().map(c -> c.event().eventId()).collect(Collectors.toSet());
        Set<String> taken = take(conn, claim.token(), ids, now, lockExpiry);
        return claimed(
                candidates.stream()
                        .filter(c -> taken.contains(c.event().eventId()))
                        .toList(),
                claim);
    }

    /** Larger priorities first, then in the order of their due time, whatever order the database answered in. */
    static List<ClaimedEvent> claimed(List<EventRows.Candidate> candidates, Claim claim) {
        return candidates.stream()
                .sorted(BY_URGENCY)
                .map(candidate -> candidate.claimedBy(claim))
                .toList();
    }

    /** By what the candidates of one statement are chosen. */
    enum By {
        /** The oldest NEW ones. */
        NEW("e.status = 0", "e.available_at, e.created_at"),
        /** The oldest RETRY ones. */
        RETRY("e.status = 2", "e.available_at, e.created_at"),
        /** Those of the largest priority. */
        PRIORITY("e.priority_slot > 0", "e.priority_slot DESC, e.available_at");

        private final String condition;
        private final String order;

        By(String condition, String order) {
            this.condition = condition;
            this.order = order;
        }
    }

    /** By age. Where events can have priorities, and more is due than fits, a part by age is kept and the others go by priority. */
    private List<EventRows.Candidate> candidates(TableShape shape, int limit, Candidates source) throws SQLException {
        List<EventRows.Candidate> byAge = byAge(limit, source);
        if (!shape.has("priority_slot") || byAge.size() < limit) { // all that is due and free
            return byAge;
        }
        int share = priorities.of(limit);
        List<EventRows.Candidate> urgent = share == 0 ? List.of() : source.of(By.PRIORITY, share);
        if (urgent.isEmpty()) {
            return byAge;
        }
        int kept = limit - share;
        List<EventRows.Candidate> oldest = new ArrayList<>(byAge);
        if (kept > 0) { // of both statuses: neither has the part by age for itself
            oldest.addAll(source.of(By.NEW, kept));
            oldest.addAll(source.of(By.RETRY, kept));
            oldest.sort(Comparator.comparing(EventRows.Candidate::availableAt));
        }
        Map<String, EventRows.Candidate> chosen = new LinkedHashMap<>();
        add(chosen, oldest, kept);
        add(chosen, urgent, limit);
        add(chosen, oldest, limit);
        return List.copyOf(chosen.values());
    }

    /**
     * Looks for each status by itself, because only then the index (status, available_at, created_at) serves the order; otherwise InnoDB sorts, and locks every row it sorts.
     * Which status comes first changes by chance, so neither can starve the other.
     */
    private static List<EventRows.Candidate> byAge(int limit, Candidates source) throws SQLException {
        Map<String, EventRows.Candidate> found = new LinkedHashMap<>();
        boolean newFirst = ThreadLocalRandom.current().nextBoolean();
        for (By by : newFirst ? List.of(By.NEW, By.RETRY) : List.of(By.RETRY, By.NEW)) {
            if (found.size() < limit) {
                add(found, source.of(by, limit - found.size()), limit);
            }
        }
        return found.values().stream()
                .sorted(Comparator.comparing(EventRows.Candidate::availableAt))
                .toList();
    }

    private static void add(Map<String, EventRows.Candidate> found, List<EventRows.Candidate> more, int limit) {
        for (EventRows.Candidate candidate : more) {
            if (found.size() < limit) {
                found.putIfAbsent(candidate.event().eventId(), candidate);
            }
        }
    }

    /** Finds candidates of one kind. */
    @FunctionalInterface
    private interface Candidates {
        List<EventRows.Candidate> of(By by, int limit) throws SQLException;
    }

    private List<EventRows.Candidate> candidates(
            Connection conn,
            By by,
            Instant now,
            Instant lockExpiry,
            Instant latestCreation,
            int limit,
            Ordering ordering,
            WithheldSql except,
            Content content)
            throws SQLException {
        TableShape shape = ordering.isOn() ? order.require(conn) : shape(conn);
        boolean idsOnly = content == Content.IDS;
        String sql = shape.text(
                except.text(OrderStatements.Text.of("claim " + content + " " + by, ordering, 0)),
                () -> candidatesSql(
                        idsOnly
                                ? "e.event_id, e.locked_by, " + TableShape.isLeaseFault("e.locked_at")
                                        + " AS lease_fault"
                                : columns(shape, "e.", Reading.SMALL) + ", e.locked_by, e.locked_at AS was_locked_at",
                        by.condition + " AND " + IS_FREE + except.condition("e.")
                                + (ordering.isOn() ? " AND " + order.isNext(ordering) : ""),
                        by.order));
        return query(
                conn,
                sql,
                binder -> {
                    binder.time("available_at", now)
                            .time("created_at", latestCreation)
                            .time("locked_at", lockExpiry);
                    except.bind(binder);
                    if (ordering.isOn()) {
                        order.bindNext(binder, ordering);
                    }
                    bindLimit(binder, limit, ordering.isOn());
                },
                row -> idsOnly ? EventRows.unread(row) : EventRows.candidate(row, shape));
    }

    /** Takes those candidates that are still free and due, and answers them: one that failed since it was read waits for its retry. This alone decides who owns an event; a lock taken before only saves useless tries. */
    private Set<String> take(Connection conn, String token, Set<String> ids, Instant now, Instant lockExpiry)
            throws SQLException {
        int count = updateHeldIds(
                conn,
                """
                UPDATE %1$s
                   SET locked_by = ?, locked_at = ?
                 WHERE %2$s
                   AND status + 0 IN (0, 2)
                   AND available_at <= ?
                   AND\s""" + isFree("locked_at"),
                ids,
                binder -> binder.text(token).time("locked_at", now),
                binder -> binder.time("available_at", now).time("locked_at", lockExpiry));
        return count == ids.size() ? ids : held.heldBy(conn, token, ids);
    }

    @Override
    public Optional<ClaimedEvent> claimOne(
            Connection conn, Claim claim, String eventId, Instant now, Instant lockExpiry, @Nullable Claim held) {
        return run("claim event " + eventId, () -> {
            String lock = locksFirst() ? lockNow() : ""; // the UPDATE decides, but it must not wait
            List<EventRows.Candidate> rows = query(
                    conn,
                    "SELECT %s, locked_by, locked_at AS was_locked_at FROM %s WHERE event_id = ? AND status + 0 IN (0, 2) %s"
                            .formatted(columns(shape(conn), "", Reading.WHOLE), table(), lock),
                    binder -> binder.text(eventId),
                    row -> EventRows.candidate(row, shape(conn), whole(row, shape(conn)), true));
            if (rows.isEmpty()) {
                return Optional.empty();
            }
            String heldToken = held == null ? "" : held.token();
            // Binds: token, now, event_id, now, token held, lock expiry, token held.
            String sql = """
                    UPDATE %s
                       SET locked_by = ?, locked_at = ?
                     WHERE event_id = ?
                       AND status + 0 IN (0, 2)
                       AND (available_at <= ? OR locked_by = ?)
                       AND (locked_at IS NULL OR locked_at < ? OR locked_by = ?)
                    """.formatted(table());
            int count = updateHeld(
                    conn,
                    sql,
                    binder -> binder.text(claim.token())
                            .time("locked_at", now)
                            .text(eventId)
                            .time("available_at", now)
                            .text(heldToken)
                            .time("locked_at", lockExpiry)
                            .text(heldToken));
            String before = rows.get(0).lockedBy();
            boolean suspect = before != null && !before.equals(heldToken);
            return count == 0
                    ? Optional.empty()
                    : Optional.of(new ClaimedEvent(rows.get(0).event(), claim, suspect));
        });
    }

    // ---- events that a claim holds ----

    @Override
    public Set<String> lockFree(Connection conn, Collection<String> eventIds) {
        return held.lockFree(conn, eventIds);
    }

    @Override
    public boolean setAttempts(Connection conn, String token, String eventId, int attempts) {
        return held.setAttempts(conn, token, eventId, attempts);
    }

    @Override
    public Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now) {
        return held.renew(conn, token, eventIds, now);
    }

    @Override
    public int release(Connection conn, String token, Collection<String> eventIds) {
        return held.release(conn, token, eventIds);
    }

    @Override
    public int releaseSuspects(Connection conn, String token, Collection<String> eventIds) {
        return held.releaseSuspects(conn, token, eventIds);
    }

    @Override
    public Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        return held.mark(conn, marks, now);
    }

    @Override
    public Set<String> remove(Connection conn, List<Mark> done) {
        return held.remove(conn, done);
    }

    // ---- order ----

    @Override
    public void requireOrder(Connection conn) {
        run("find out whether there is an order", () -> order.require(conn));
    }

    @Override
    public Map<String, Position> positions(Connection conn, Collection<String> eventIds, Ordering ordering) {
        return order.positions(conn, eventIds, ordering);
    }

    @Override
    public List<BlockedAggregate> blockedAggregates(Connection conn, int limit) {
        return order.blockedAggregates(conn, limit);
    }

    @Override
    public int skip(Connection conn, Collection<String> eventIds) {
        return order.skip(conn, eventIds);
    }

    // ---- control ----

    @Override
    public Optional<Pending> find(Connection conn, EventRef event, boolean latest) {
        return run("find an event", () -> control.find(conn, event, latest));
    }

    @Override
    public Optional<Pending> findLast(Connection conn, String dedupKey) {
        return run("find an event", () -> control.findLast(conn, dedupKey));
    }

    @Override
    public Optional<String> purgeKeys(Connection conn, Instant doneBefore, String after, int limit) {
        return run("purge keys", () -> keys.purge(conn, doneBefore, after, limit));
    }

    @Override
    public boolean cancel(Connection conn, Pending found) {
        return run("cancel event " + found.eventId(), () -> control.cancel(conn, found));
    }

    @Override
    public boolean reschedule(Connection conn, Pending found, Instant availableAt) {
        return run("reschedule event " + found.eventId(), () -> control.reschedule(conn, found, availableAt));
    }

    @Override
    public Optional<Instant> nextDue(Connection conn, Instant now) {
        return run("find the next due time", () -> control.nextDue(conn, now));
    }

    @Override
    public List<String> expire(Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
        return run("end expired events", () -> control.expire(conn, now, lockExpiry, reason, limit));
    }

    // ---- pauses ----

    @Override
    public boolean hasPauses(Connection conn) {
        return pauses.exist(conn);
    }

    @Override
    public List<Pause> pauses(Connection conn) {
        return pauses.read(conn);
    }

    @Override
    public boolean pause(Connection conn, Pause pause) {
        return pauses.pause(conn, pause);
    }

    @Override
    public boolean resume(Connection conn, PauseScope scope, String name) {
        return pauses.resume(conn, scope, name);
    }

    // ---- the history of attempts ----

    @Override
    public boolean keepsAttempts(Connection conn) {
        return attempts.exist(conn);
    }

    @Override
    public void addAttempts(Connection conn, List<Attempt> some, int keep) {
        attempts.add(conn, some, keep);
    }

    @Override
    public int purgeAttempts(Connection conn, Instant before, int limit) {
        return attempts.purge(conn, before, limit);
    }

    @Override
    public void forgetAttempts(Connection conn, Collection<String> eventIds) {
        attempts.forget(conn, eventIds);
    }

    // ---- reconciliation ----

    @Override
    public boolean keepsReconciliation(Connection conn) {
        return run("look for reconcile jobs beside", () -> reconcile.exist(conn));
    }

    @Override
    public void addJob(Connection conn, String job, String schedule, Instant nextAt) {
        run("make reconcile job " + job + " known for events", () -> {
            reconcile.add(conn, job, schedule, nextAt);
            return job;
        });
    }

    @Override
    public List<ReconcileStatus> jobs(Connection conn) {
        return run("read reconcile jobs for events", () -> reconcile.all(conn));
    }

    @Override
    public Optional<Turn> beginRun(
            Connection conn, ReconcileRun wanted, Instant expired, Instant leaseUntil, boolean anyTime) {
        return run(
                "begin a run of reconcile job " + wanted.job() + " for events",
                () -> reconcile.begin(conn, wanted, expired, leaseUntil, anyTime));
    }

    @Override
    public boolean keepRun(Connection conn, ReconcileRun current, Instant leaseUntil) {
        return run(
                "keep reconcile job " + current.job() + " for events", () -> reconcile.keep(conn, current, leaseUntil));
    }

    @Override
    public void advanceRun(Connection conn, ReconcileRun current) {
        run("advance reconcile job " + current.job() + " for events", () -> {
            reconcile.advance(conn, current);
            return current;
        });
    }

    @Override
    public void endRun(
            Connection conn, ReconcileRun ended, @Nullable Instant nextAt, boolean swept, boolean served, int keep) {
        run("end a run of reconcile job " + ended.job() + " for events", () -> {
            reconcile.end(conn, ended, nextAt, swept, served, keep);
            return ended;
        });
    }

    @Override
    public boolean requestRun(Connection conn, String job, String requestId, String by, boolean dryRun, Instant now) {
        return run(
                "ask for a run of reconcile job " + job + " for events",
                () -> reconcile.request(conn, job, requestId, by, dryRun, now));
    }

    @Override
    public List<ReconcileRun> runs(Connection conn, @Nullable String job, int limit) {
        return run("read runs of reconcile jobs for events", () -> reconcile.read(conn, job, limit));
    }

    @Override
    public Optional<ReconcileRun> runFor(Connection conn, String requestId) {
        return run("read a run of a reconcile job for events", () -> reconcile.readFor(conn, requestId));
    }

    /** Whether statements of this connection find a table by this name. Answers without an error. */
    boolean hasTable(Connection conn, TableName name) throws SQLException {
        DatabaseMetaData meta = conn.getMetaData();
        boolean folds = meta.storesUpperCaseIdentifiers();
        String simple = folds ? name.simpleName().toUpperCase(Locale.ROOT) : name.simpleName();
        int dot = name.value().indexOf('.');
        if (dot < 0) {
            return isAmong(meta.getTables(conn.getCatalog(), conn.getSchema(), simple, null), simple);
        }
        String schema = name.value().substring(0, dot);
        ResultSet tables = meta.supportsSchemasInTableDefinitions()
                ? meta.getTables(conn.getCatalog(), folds ? schema.toUpperCase(Locale.ROOT) : schema, simple, null)
                : meta.getTables(schema, null, simple, null); // where a schema is a catalog
        return isAmong(tables, simple);
    }

    /** The name was asked for as a pattern, in which the underscore is any character. */
    private static boolean isAmong(ResultSet tables, String name) throws SQLException {
        try (tables) {
            boolean found = false;
            while (!found && tables.next()) {
                found = tables.getString("TABLE_NAME").equalsIgnoreCase(name);
            }
            return found;
        }
    }

    // ---- administration ----

    @Override
    public List<TypeCount> countByType(Connection conn) {
        return admin.countByType(conn);
    }

    @Override
    public Optional<Instant> oldestPending(Connection conn) {
        return admin.oldestPending(conn);
    }

    @Override
    public Backlog backlog(Connection conn) {
        return admin.backlog(conn);
    }

    @Override
    public long countDead(Connection conn) {
        return admin.countDead(conn);
    }

    @Override
    public Optional<EventDetails> find(Connection conn, String eventId) {
        return admin.find(conn, eventId);
    }

    @Override
    public List<EventSummary> find(Connection conn, EventQuery query) {
        return admin.find(conn, query);
    }

    @Override
    public long count(Connection conn, EventFilter filter) {
        return admin.count(conn, filter);
    }

    @Override
    public List<String> findIds(Connection conn, EventFilter filter, int limit) {
        return admin.findIds(conn, filter, limit);
    }

    @Override
    public int replay(Connection conn, List<String> eventIds, Replay how) {
        return admin.replay(conn, eventIds, how);
    }

    @Override
    public int discard(Connection conn, Collection<String> eventIds) {
        return admin.discard(conn, eventIds);
    }

    @Override
    public int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit) {
        return admin.purge(conn, terminal, doneBefore, limit);
    }

    @Override
    public Optional<AuditEntry> audit(Connection conn, String requestId) {
        return audit.read(conn, requestId);
    }

    @Override
    public List<AuditEntry> audits(Connection conn, int limit) {
        return audit.list(conn, limit);
    }

    @Override
    public List<ClaimHolder> claimHolders(Connection conn) {
        return admin.claimHolders(conn);
    }

    @Override
    public int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter claimed) {
        return admin.releaseClaims(conn, eventIds, claimed);
    }

    @Override
    public int makeDue(Connection conn, Collection<String> eventIds, Instant now) {
        return admin.makeDue(conn, eventIds, now);
    }

    @Override
    public boolean beginAudit(Connection conn, AuditEntry entry) {
        return audit.begin(conn, entry);
    }

    @Override
    public void progressAudit(Connection conn, String requestId, int affected, @Nullable Instant finishedAt) {
        audit.progress(conn, requestId, affected, finishedAt);
    }

    /**
     * The condition on the time of creation. One that is out of range is found too: its event becomes dead. Binds:
     * latest created_at.
     */
    static String isOld(String createdAt) {
        return "(" + createdAt + " <= ? OR " + createdAt + " >= " + TableShape.NEVER_SQL + ")";
    }

    /**
     * The condition that no lease runs. One that began at a time out of range never ends, and is none. Binds: lock
     * expiry.
     */
    static String isFree(String lockedAt) {
        return "(" + lockedAt + " IS NULL OR " + lockedAt + " < ? OR " + lockedAt + " >= " + TableShape.NEVER_SQL + ")";
    }

    static Instant latestCreation(Instant now, Duration skipRecent) {
        return skipRecent.isZero() ? TableShape.NEVER : now.minus(skipRecent);
    }
}
