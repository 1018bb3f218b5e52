package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.admin.AuditEntry;
import outbox.admin.BlockedAggregate;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.TypeCount;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.order.Ordering;
import outbox.spi.AdminEventStore;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ErrorText;
import outbox.spi.Mark;
import outbox.spi.OrderedEventStore;
import outbox.spi.Position;

import java.sql.Connection;
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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;

/**
 * The SQL that all databases share, and a claim that works on any of them: read candidates, then take them with a conditional UPDATE that alone decides who owns an event. A
 * database overrides a whole statement where it can do better.
 *
 * <p>The class is longer than others because it is the contract of a store as a whole, statement by statement. The store looks at the table once, on first use, and uses the columns beyond the specification's 15 that it finds. It keeps no connection and is thread-safe.
 */
public abstract class AbstractJdbcEventStore extends JdbcTable implements OrderedEventStore, AdminEventStore {

    /** The table of a store that is given none. */
    public static final String DEFAULT_TABLE = "outbox_event";

    private static final Instant ANY_TIME = Instant.parse("9999-12-31T00:00:00Z");

    private final HeldEventStatements held;
    private final OrderStatements order;
    private final AdminStatements admin;
    private final AuditStatements audit;

    protected AbstractJdbcEventStore(String tableName) {
        super(new TableName(tableName));
        this.held = new HeldEventStatements(this);
        this.order = new OrderStatements(this);
        this.admin = new AdminStatements(this);
        this.audit = new AuditStatements(this);
    }

    /** The name by which {@link JdbcEventStores#get} finds this store. */
    public abstract String name();

    /** How the URLs of this database begin, such as {@code jdbc:h2:}. */
    public abstract List<String> jdbcUrlPrefixes();

    /** SQL for the database's current time, with time zone or as local time in UTC. */
    protected abstract String nowSql(boolean zoned);

    /** The parameter for a column of the given type that holds JSON as text. */
    protected String jsonParameter(String columnType) {
        return "?";
    }

    /** Reads the candidates of a claim, those due first first, and hides them from other claims if the database can. Binds: those of the condition on e, then {@link #bindLimit}. */
    String candidatesSql(String columns, String condition) {
        return """
                SELECT %s
                  FROM %s e
                 WHERE %s
                 ORDER BY e.available_at, e.created_at
                 LIMIT ?
                """.formatted(columns, table(), condition);
    }

    /** The condition is costly if it asks about other events. */
    void bindLimit(Binder binder, int limit, boolean costly) throws SQLException {
        binder.number(limit);
    }

    /** What makes an INSERT pass over a row whose key exists, where the error of a duplicate would abort the transaction; empty if it would not. */
    protected String passOverDuplicate() {
        return "";
    }

    /** How the INSERT of so many events ends. */
    String afterInsert(int rows) {
        return "";
    }

    /** Whether an index is entered at the last row before a value; MySQL and MariaDB read it from its end. */
    boolean findsLastDirectly() {
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

    /**
     * The statement that deletes a bounded number of events of a terminal status. Binds: latest available_at, latest done_at, limit. No event becomes terminal before it is due, so
     * the condition on available_at only lets the index (status, available_at, created_at) serve; an exception, marked by hand, just goes later.
     */
    protected String purgeSql(EventStatus terminal) {
        return """
                DELETE FROM %s
                 WHERE status = %d
                   AND available_at < ?
                   AND done_at < ?
                 FETCH FIRST ? ROWS ONLY
                """.formatted(table(), terminal.code());
    }

    /** Deletes those of the events that are DEAD. */
    int deleteDead(Connection conn, Collection<String> eventIds) throws SQLException {
        return updateIds(conn, """
                DELETE FROM %1$s
                 WHERE %2$s
                   AND status = 3
                """, eventIds, binder -> {}, binder -> {});
    }

    /** Deletes some events that ended before the given time. */
    int deleteTerminal(Connection conn, EventStatus terminal, Instant doneBefore, int limit) throws SQLException {
        return update(
                conn,
                purgeSql(terminal),
                binder -> binder.time("available_at", doneBefore)
                        .time("done_at", doneBefore)
                        .number(limit));
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
            try (PreparedStatement select = conn.prepareStatement("SELECT " + nowSql(false));
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
    public void insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        run("insert " + events.size() + " events", () -> {
            new EventInsert(this, shape(conn)).insert(conn, events, birth);
            return events.size();
        });
    }

    /** Binds what an insert needs. */
    @FunctionalInterface
    interface Binding {
        void bind(PreparedStatement statement) throws SQLException;
    }

    /** Inserts the rows of one statement, all or none; an id that exists is a {@link DuplicateEventException}. */
    void insertChunk(Connection conn, String sql, List<EventEnvelope> events, Binding binding) throws SQLException {
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            binding.bind(insert);
            insert.executeUpdate();
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
        Set<String> found = queryIds(conn, "SELECT event_id FROM %1$s WHERE %2$s", ids, binder -> {});
        return found.isEmpty() ? ids : List.copyOf(found);
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
                       AND created_at <= ?
                     ORDER BY created_at
                     LIMIT ?
                    """.formatted(EventRows.columns(shape(conn), ""), table());
            return query(
                    conn,
                    sql,
                    binder -> binder.time("available_at", now)
                            .time("created_at", latestCreation(now, skipRecent))
                            .number(limit),
                    row -> EventRows.event(row, shape(conn)));
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
        return run(
                "claim events",
                () -> claimCandidates(
                        conn,
                        claim,
                        now,
                        lockExpiry,
                        limit,
                        (status, most) ->
                                candidates(conn, status, now, lockExpiry, latestCreation(now, skipRecent), most)));
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
        if (!ordering.isOn()) {
            return claim(conn, claim, now, lockExpiry, skipRecent, limit);
        }
        return run(
                "claim events in order",
                () -> claimCandidates(
                        conn,
                        claim,
                        now,
                        lockExpiry,
                        limit,
                        (status, most) -> candidatesInOrder(
                                conn, status, now, lockExpiry, latestCreation(now, skipRecent), most, ordering)));
    }

    private List<ClaimedEvent> claimCandidates(
            Connection conn, Claim claim, Instant now, Instant lockExpiry, int limit, Candidates source)
            throws SQLException {
        List<EventRows.Candidate> candidates = candidates(limit, source);
        Set<String> ids = candidates.stream().map(c -> c.event().eventId()).collect(Collectors.toSet());
        Set<String> taken = take(conn, claim.token(), ids, now, lockExpiry);
        return claimed(
                candidates.stream()
                        .filter(c -> taken.contains(c.event().eventId()))
                        .toList(),
                claim);
    }

    /** In the order of their due time, whatever order the database answered in. */
    static List<ClaimedEvent> claimed(List<EventRows.Candidate> candidates, Claim claim) {
        return candidates.stream()
                .sorted(Comparator.comparing(EventRows.Candidate::availableAt)
                        .thenComparing(candidate -> candidate.event().createdAt()))
                .map(candidate -> new ClaimedEvent(candidate.event(), claim, candidate.lockedBy() != null))
                .toList();
    }

    /**
     * Looks for each status by itself, because only then the index (status, available_at, created_at) serves the order; otherwise InnoDB sorts, and locks every row it sorts.
     * Which status comes first changes by chance, so neither can starve the other.
     */
    private static List<EventRows.Candidate> candidates(int limit, Candidates source) throws SQLException {
        boolean newFirst = ThreadLocalRandom.current().nextBoolean();
        List<EventRows.Candidate> found = new ArrayList<>();
        for (EventStatus status :
                newFirst ? List.of(EventStatus.NEW, EventStatus.RETRY) : List.of(EventStatus.RETRY, EventStatus.NEW)) {
            if (found.size() < limit) {
                found.addAll(source.of(status, limit - found.size()));
            }
        }
        return found;
    }

    /** Finds candidates of one status. */
    @FunctionalInterface
    private interface Candidates {
        List<EventRows.Candidate> of(EventStatus status, int limit) throws SQLException;
    }

    private List<EventRows.Candidate> candidates(
            Connection conn, EventStatus status, Instant now, Instant lockExpiry, Instant latestCreation, int limit)
            throws SQLException {
        TableShape shape = shape(conn);
        String sql = shape.text(status, () -> candidatesSql(candidateColumns(shape), isFree(status)));
        return query(
                conn,
                sql,
                binder -> {
                    bindFree(binder, now, lockExpiry, latestCreation);
                    bindLimit(binder, limit, false);
                },
                row -> EventRows.candidate(row, shape));
    }

    private List<EventRows.Candidate> candidatesInOrder(
            Connection conn,
            EventStatus status,
            Instant now,
            Instant lockExpiry,
            Instant latestCreation,
            int limit,
            Ordering ordering)
            throws SQLException {
        TableShape shape = order.require(conn);
        String sql = shape.text(
                OrderStatements.Text.of("claim " + status, ordering, 0),
                () -> candidatesSql(candidateColumns(shape), isFree(status) + " AND " + order.isNext(ordering)));
        return query(
                conn,
                sql,
                binder -> {
                    bindFree(binder, now, lockExpiry, latestCreation);
                    order.bindNext(binder, ordering);
                    bindLimit(binder, limit, true);
                },
                row -> EventRows.candidate(row, shape));
    }

    private static String candidateColumns(TableShape shape) {
        return EventRows.columns(shape, "e.") + ", e.available_at, e.locked_by";
    }

    /** Binds: see {@link #bindFree}. */
    private static String isFree(EventStatus status) {
        return "e.status = " + status.code()
                + " AND e.available_at <= ? AND e.created_at <= ? AND (e.locked_at IS NULL OR e.locked_at < ?)";
    }

    private static void bindFree(Binder binder, Instant now, Instant lockExpiry, Instant latestCreation)
            throws SQLException {
        binder.time("available_at", now).time("created_at", latestCreation).time("locked_at", lockExpiry);
    }

    /** Takes those candidates that are still free and due, and answers them: one that failed since it was read waits for its retry. This alone decides who owns an event; a lock taken before only saves useless tries. */
    private Set<String> take(Connection conn, String token, Set<String> ids, Instant now, Instant lockExpiry)
            throws SQLException {
        int count = updateIds(
                conn,
                """
                UPDATE %1$s
                   SET locked_by = ?, locked_at = ?
                 WHERE %2$s
                   AND status + 0 IN (0, 2)
                   AND available_at <= ?
                   AND (locked_at IS NULL OR locked_at < ?)
                """,
                ids,
                binder -> binder.text(token).time("locked_at", now),
                binder -> binder.time("available_at", now).time("locked_at", lockExpiry));
        return count == ids.size() ? ids : held.heldBy(conn, token, ids);
    }

    @Override
    public Optional<ClaimedEvent> claimOne(
            Connection conn, Claim claim, String eventId, Instant now, Instant lockExpiry, @Nullable Claim held) {
        return run("claim event " + eventId, () -> {
            List<EventRows.Candidate> rows = query(
                    conn,
                    "SELECT %s, available_at, locked_by FROM %s WHERE event_id = ? AND status + 0 IN (0, 2)"
                            .formatted(EventRows.columns(shape(conn), ""), table()),
                    binder -> binder.text(eventId),
                    row -> EventRows.candidate(row, shape(conn)));
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
            int count = update(
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
    public boolean recordRun(Connection conn, String token, String eventId) {
        return held.recordRun(conn, token, eventId);
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
    public int replay(Connection conn, Collection<String> eventIds, Instant now) {
        return admin.replay(conn, eventIds, now);
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
    public boolean beginAudit(Connection conn, AuditEntry entry) {
        return audit.begin(conn, entry);
    }

    @Override
    public void progressAudit(Connection conn, String requestId, int affected, @Nullable Instant finishedAt) {
        audit.progress(conn, requestId, affected, finishedAt);
    }

    static Instant latestCreation(Instant now, Duration skipRecent) {
        return skipRecent.isZero() ? ANY_TIME : now.minus(skipRecent);
    }
}
