package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.admin.AuditEntry;
import outbox.admin.Backlog;
import outbox.admin.ClaimHolder;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.TypeCount;
import outbox.jdbc.ContentSql.Reading;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.order.Ordering;
import outbox.spi.AdminEventStore;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.DescribedEventStore;
import outbox.spi.Leadership;
import outbox.spi.LoadingEventStore;
import outbox.spi.Mark;
import outbox.spi.PartitionedEventStore;
import outbox.spi.Replay;
import outbox.spi.RowLockingEventStore;
import outbox.spi.SafeLogger;
import outbox.spi.Withheld;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/**
 * A store on a table of any {@link TableLayout}: the same promises as those of {@link AbstractJdbcEventStore}, as far as the layout can keep them. It claims by reading candidates and
 * taking them with a conditional UPDATE, in one transaction.
 *
 * <p>Where the table has no column for the token of a claim, the claim is known by the exact time of its lock, which this instance remembers: a dispatcher and the poller that feeds it
 * must share one instance. Where it has no lock at all, claims are in memory and need a {@link Leadership}. Thread-safe; keeps no connection.
 */
public final class LayoutEventStore extends JdbcTable
        implements DescribedEventStore,
                AdminEventStore,
                RowLockingEventStore,
                LoadingEventStore,
                PartitionedEventStore {

    private static final Logger LOG = SafeLogger.of(LayoutEventStore.class);
    private static final Duration END_INTERVAL = Duration.ofMinutes(1);
    private static final int MAX_ENDED = 100;
    private static final String LOST =
            "The process ended, or lost its lease, during the last attempt. Find out what the event does to it, then replay the event.";

    private final TableLayout layout;
    private final AbstractJdbcEventStore dialect; // on the same table, for what depends on the database alone
    private final LayoutSql sql;
    private final LayoutFence fence;
    private final LayoutRows rows;
    private final LayoutAdmin admin;
    private final AttemptLimits limits;
    private volatile String idType = "varchar"; // what PostgreSQL calls it; whoever reads the shape writes, as the next
    private volatile String byId = "";
    private final AtomicLong nextEndNanos = new AtomicLong(System.nanoTime());

    private LayoutEventStore(TableLayout layout, AbstractJdbcEventStore dialect, @Nullable Leadership leadership) {
        super(layout.table());
        this.layout = layout;
        this.dialect = dialect;
        this.sql = new LayoutSql(layout, dialect);
        if (layout.has(LayoutColumn.LOCKED_BY)) {
            this.fence = new LayoutFence.ByToken(sql);
        } else if (layout.has(LayoutFeature.SHARED_CLAIMS)) {
            this.fence = new LayoutFence.ByTime(sql);
        } else if (leadership != null) {
            this.fence = new LedFence(leadership);
        } else {
            layout.require(LayoutFeature.SHARED_CLAIMS, "be shared by claims, and no leadership was given");
            throw new IllegalStateException("Unreachable");
        }
        this.rows = new LayoutRows(this, sql);
        this.admin = new LayoutAdmin(this, layout, sql, dialect);
        this.limits = new AttemptLimits(this);
    }

    /**
     * A store for a table that several nodes may share.
     *
     * @throws EventStoreException if the layout has no place for claims
     */
    public static LayoutEventStore of(DataSource dataSource, TableLayout layout) {
        return new LayoutEventStore(layout, dialect(JdbcEventStores.detect(dataSource), layout), null);
    }

    /** A store for a table of any layout. One without a place for claims is used while this node has the lead, and not at all otherwise. */
    public static LayoutEventStore of(DataSource dataSource, TableLayout layout, Leadership leadership) {
        return new LayoutEventStore(layout, dialect(JdbcEventStores.detect(dataSource), layout), leadership);
    }

    /** A store for the database behind a connection. */
    static LayoutEventStore of(Connection connection, TableLayout layout) throws SQLException {
        return new LayoutEventStore(layout, dialect(JdbcEventStores.detect(connection), layout), null);
    }

    private static AbstractJdbcEventStore dialect(AbstractJdbcEventStore known, TableLayout layout) {
        String table = layout.table().value();
        return switch (known.name()) {
            case "postgresql" -> new PostgresEventStore(table);
            case "mysql" -> new MySqlEventStore(table);
            case "h2" -> new H2EventStore(table);
            default ->
                throw new IllegalArgumentException(
                        "Layouts are known for postgresql, mysql and h2, not for " + known.name());
        };
    }

    public TableLayout layout() {
        return layout;
    }

    @Override
    public String tableName() {
        return layout.table().value();
    }

    @Override
    public int maxAttempts() {
        return layout.maxAttempts();
    }

    @Override
    public boolean isShared() {
        return layout.has(LayoutFeature.SHARED_CLAIMS);
    }

    AbstractJdbcEventStore dialect() {
        return dialect;
    }

    LayoutSql sql() {
        return sql;
    }

    LayoutFence fence() {
        return fence;
    }

    AttemptLimits limits() {
        return limits;
    }

    // ---- how statements are made and run ----

    @Override
    TableShape readShape(Connection conn) throws SQLException {
        TableShape shape = TableShape.readAny(conn, sqlName());
        List<String> missing = missingIn(shape);
        if (!missing.isEmpty()) {
            throw new EventStoreException(
                    "Table " + table() + " is not of layout '" + layout.name() + "': it has no column "
                            + String.join(", ", missing),
                    null);
        }
        idType = shape.typeOf(sql.plain(LayoutColumn.EVENT_ID));
        byId = dialect instanceof MySqlEventStore ? hint(conn) : "";
        return shape;
    }

    List<String> missingIn(TableShape shape) {
        return layout.columns().keySet().stream()
                .filter(column -> !layout.isOptional(column))
                .map(sql::plain)
                .filter(column -> !shape.has(column))
                .toList();
    }

    /** What makes MySQL find rows by their id whatever the size of the table: reading a small one as a whole, it would wait for every row that a business transaction has just written. */
    String byId() {
        return byId;
    }

    /** Binds: schema, table, column. */
    private String hint(Connection conn) throws SQLException {
        String text = """
                SELECT index_name
                  FROM information_schema.statistics
                 WHERE table_schema = COALESCE(?, DATABASE())
                   AND table_name = ?
                   AND non_unique = 0
                 GROUP BY index_name
                HAVING COUNT(*) = 1 AND MAX(LOWER(column_name)) = ?
                """;
        String name = table().value();
        int dot = name.indexOf('.');
        try (PreparedStatement select = conn.prepareStatement(text)) {
            select.setString(1, dot < 0 ? null : name.substring(0, dot));
            select.setString(2, table().simpleName());
            select.setString(3, sql.plain(LayoutColumn.EVENT_ID));
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? " FORCE INDEX (`" + row.getString(1) + "`)" : "";
            }
        }
    }

    /** Deletes rows that this transaction has locked or made. On MySQL each by its key: a DELETE of many takes no hint. */
    void deleteIds(Connection conn, Collection<String> eventIds) throws SQLException {
        if (!(dialect instanceof MySqlEventStore)) {
            updateIds(conn, "DELETE FROM %1$s WHERE %2$s", eventIds, binder -> {}, binder -> {});
            return;
        }
        String text = "DELETE FROM " + sqlName() + " WHERE " + sql.column(LayoutColumn.EVENT_ID) + " = ?";
        try (PreparedStatement delete = conn.prepareStatement(text)) {
            for (String eventId : eventIds) {
                delete.setString(1, eventId);
                delete.addBatch();
            }
            if (!eventIds.isEmpty()) {
                delete.executeBatch();
            }
        }
    }

    @Override
    String sqlName() {
        return sql.table(table());
    }

    /** Whether the table has the column, which may be optional. */
    boolean has(TableShape shape, LayoutColumn column) {
        return layout.has(column) && shape.has(sql.plain(column));
    }

    @Override
    protected String idCondition(int count) {
        String id = sql.column(LayoutColumn.EVENT_ID);
        return sql.isPostgres()
                ? id + " = ANY (CAST(? AS " + idType + "[]))"
                : id + " IN (?" + ", ?".repeat(count - 1) + ")";
    }

    @Override
    boolean idsInArray() {
        return sql.isPostgres();
    }

    @Override
    void bindIds(Binder binder, List<String> ids) throws SQLException {
        if (sql.isPostgres()) {
            binder.array(ids);
        } else {
            binder.texts(ids);
        }
    }

    /** Those that can be ids of this table at all: what is no UUID is in no column of UUIDs. */
    Collection<String> possible(Connection conn, Collection<String> eventIds) throws SQLException {
        if (!isUuid(shape(conn), LayoutColumn.EVENT_ID)) {
            return eventIds;
        }
        return eventIds.stream().filter(LayoutEventStore::isUuid).toList();
    }

    boolean isUuid(TableShape shape, LayoutColumn column) {
        return shape.typeOf(sql.plain(column)).equals("uuid");
    }

    static boolean isUuid(String text) {
        try {
            return text.length() == 36 && UUID.fromString(text) != null;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Planned for each execution: the plan that PostgreSQL would keep was made when the table was small. */
    @Override
    <T> List<T> queryAnew(Connection conn, String text, Binds binds, RowMapper<T> mapper) throws SQLException {
        try (PreparedStatement select = conn.prepareStatement(text)) {
            if (sql.isPostgres()) {
                PostgresStatement.planEachTime(select);
            }
            return query(conn, select, binds, mapper);
        }
    }

    @Override
    int updateAnew(Connection conn, String text, Binds binds) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(text)) {
            if (sql.isPostgres()) {
                PostgresStatement.planEachTime(update);
            }
            return update(conn, update, binds);
        }
    }

    @Override
    <T> List<T> queryHeld(Connection conn, String text, Binds binds, RowMapper<T> mapper) throws SQLException {
        return sql.isPostgres()
                ? PostgresLimits.query(this, conn, text, binds, mapper)
                : queryAnew(conn, text, binds, mapper);
    }

    @Override
    int updateHeld(Connection conn, String text, Binds binds) throws SQLException {
        return sql.isPostgres() ? PostgresLimits.update(this, conn, text, binds) : updateAnew(conn, text, binds);
    }

    @Override
    boolean locksFirst() {
        return dialect.locksFirst();
    }

    @Override
    String lockNow() {
        return dialect.lockNow();
    }

    // ---- the database ----

    @Override
    public Instant now(Connection conn) {
        return dialect.now(conn);
    }

    @Override
    public void prepare(Connection conn) throws SQLException {
        dialect.prepare(conn);
    }

    @Override
    public void checkCommit(Connection conn) {
        dialect.checkCommit(conn);
    }

    /** Only a module's outbox on PostgreSQL, made by {@link LayoutSchema#createPartitioned}, has partitions: of days, a week ahead. */
    @Override
    public boolean keepPartitions(Connection conn, Duration retention) {
        return run("keep the partitions", () -> new DayPartitions(this).keep(conn, retention));
    }

    // ---- writing ----

    @Override
    public void insertNew(Connection conn, EventEnvelope event) {
        insertAll(conn, List.of(event), null);
    }

    @Override
    public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        if (birth != null) {
            layout.require(LayoutFeature.BORN_LEASED, "take events that are born leased");
        }
        return run("insert " + events.size() + " events", () -> {
            new LayoutInsert(this, layout, shape(conn)).insert(conn, events, birth);
            return false;
        });
    }

    @Override
    public Set<String> existing(Connection conn, Collection<String> eventIds) {
        return run(
                "look for events",
                () -> queryIds(
                        conn,
                        "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM %1$s WHERE %2$s",
                        possible(conn, eventIds),
                        binder -> {}));
    }

    // ---- marks of the specification: by event id ----

    @Override
    public int markDone(Connection conn, String eventId) {
        return markById(conn, EventStatus.DONE, eventId, 0, now(conn), "");
    }

    @Override
    public int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
        return markById(conn, EventStatus.RETRY, eventId, 1, nextAt, error);
    }

    @Override
    public int markDead(Connection conn, String eventId, String error) {
        return markById(conn, EventStatus.DEAD, eventId, 0, now(conn), error);
    }

    private int markById(Connection conn, EventStatus status, String eventId, int counted, Instant time, String error) {
        return run("mark event " + eventId + " " + status, () -> {
            Instant now = now(conn);
            String text = "UPDATE %1$s" + byId + " SET " + sql.set(status) + fence.letGo() + " WHERE %2$s AND NOT ("
                    + sql.is(EventStatus.DONE) + ")";
            Collection<String> ids = possible(conn, List.of(eventId));
            fence.forgetAll(ids);
            return updateIds(
                    conn, text, ids, binder -> sql.bindMark(binder, status, counted, time, error, now), binder -> {});
        });
    }

    // ---- reading and claiming ----

    @Override
    public List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
        return run("read pending events", () -> {
            // Binds: now, latest created_at, limit.
            String text = """
                    SELECT %s
                      FROM %s
                     WHERE %s
                       AND %s
                       AND %s
                     ORDER BY %s, %s
                     LIMIT ?
                    """.formatted(
                            rows.columns(shape(conn), Reading.WHOLE),
                            sqlName(),
                            sql.isPending(),
                            sql.isDue(),
                            AbstractJdbcEventStore.isOld(sql.column(LayoutColumn.CREATED_AT)),
                            sql.column(LayoutColumn.CREATED_AT),
                            sql.order());
            return queryAnew(
                    conn,
                    text,
                    binder -> binder.time(sql.plain(LayoutColumn.AVAILABLE_AT), now)
                            .time(
                                    sql.plain(LayoutColumn.CREATED_AT),
                                    AbstractJdbcEventStore.latestCreation(now, skipRecent))
                            .number(limit),
                    row -> rows.whole(row, shape(conn)));
        });
    }

    @Override
    public List<OutboxEvent> claimPending(
            Connection conn, String ownerId, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return claim(conn, new Claim(ownerId, Long.MAX_VALUE), now, lockExpiry, skipRecent, limit).stream()
                .map(ClaimedEvent::event)
                .toList();
    }

    @Override
    public List<ClaimedEvent> claim(
            Connection conn, Claim claim, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        List<ClaimedEvent> claimed = claimUnread(
                conn, claim, now, lockExpiry, skipRecent, limit, Ordering.off(), Withheld.NOTHING, Content.SMALL);
        return AbstractJdbcEventStore.complete(claimed, ids -> load(conn, ids));
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
        return run("claim events", () -> {
            limits.agree(conn);
            endLost(conn, lockExpiry);
            List<LayoutRows.Candidate> found = new ArrayList<>();
            for (String pending : sql.pendingParts()) {
                found.addAll(candidates(
                        conn, pending, now, lockExpiry, skipRecent, limit, content, "FOR UPDATE SKIP LOCKED"));
            }
            List<LayoutRows.Candidate> candidates = found.stream()
                    .filter(candidate -> !fence.isTaken(candidate.eventId(), lockExpiry))
                    .sorted(LayoutRows.Candidate.ORDER)
                    .limit(limit)
                    .toList();
            Set<String> taken = take(conn, claim.token(), candidates, now, lockExpiry);
            return candidates.stream()
                    .filter(candidate -> taken.contains(candidate.eventId()))
                    .map(candidate -> candidate.claimedBy(claim))
                    .toList();
        });
    }

    @Override
    public Map<String, Long> sizes(Connection conn, Collection<String> eventIds) {
        return run("read the sizes of " + eventIds.size() + " events", () -> {
            TableShape shape = shape(conn);
            Map<String, Long> found = new HashMap<>();
            readIds(
                    conn,
                    "SELECT " + sql.column(LayoutColumn.EVENT_ID) + ", " + rows.sizes(shape) + " FROM %1$s" + byId
                            + " WHERE %2$s",
                    possible(conn, eventIds),
                    row -> found.put(row.getString(1), rows.readBytes(row, shape)));
            return found;
        });
    }

    @Override
    public List<OutboxEvent> load(Connection conn, Collection<String> eventIds) {
        return run("read " + eventIds.size() + " events", () -> {
            TableShape shape = shape(conn);
            List<LayoutRows.Candidate> found = new ArrayList<>();
            readIds(
                    conn,
                    "SELECT " + rows.columns(shape, Reading.WHOLE) + " FROM %1$s" + byId + " WHERE %2$s",
                    possible(conn, eventIds),
                    row -> found.add(
                            new LayoutRows.Candidate(rows.whole(row, shape), rows.sequence(row), false, true)));
            return found.stream()
                    .sorted(LayoutRows.Candidate.ORDER)
                    .map(LayoutRows.Candidate::event)
                    .toList();
        });
    }

    @Override
    public List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
        return run("end events that are never due", () -> {
            LayoutFence.Piece free = fence.free(lockExpiry);
            Set<String> ids = new HashSet<>();
            for (String pending : sql.pendingParts()) {
                // Binds: those of the fence, limit.
                String text = "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM " + sqlName() + " WHERE " + pending
                        + " AND " + sql.column(LayoutColumn.AVAILABLE_AT) + " >= " + TableShape.NEVER_SQL + free.sql()
                        + " LIMIT ? FOR UPDATE SKIP LOCKED";
                ids.addAll(queryHeld(
                        conn,
                        text,
                        binder -> {
                            free.binds().to(binder);
                            binder.number(limit - ids.size());
                        },
                        row -> row.getString(1)));
            }
            ids.removeIf(eventId -> fence.isTaken(eventId, lockExpiry));
            updateHeldIds(
                    conn,
                    "UPDATE %1$s" + byId + " SET " + sql.set(EventStatus.DEAD) + fence.letGo() + " WHERE %2$s AND "
                            + sql.isUnfinished(),
                    ids,
                    binder -> sql.bindMark(binder, EventStatus.DEAD, 0, now, reason, now),
                    binder -> {});
            fence.forgetAll(ids);
            return List.copyOf(ids);
        });
    }

    /**
     * Where attempts tell what is dead, an event whose last run was recorded and ended with its process is dead, and no claim will find it again: it is given a reason, and freed. Now and then,
     * since the statement passes over all that is unfinished.
     */
    private void endLost(Connection conn, Instant lockExpiry) throws SQLException {
        long due = nextEndNanos.get();
        long now = System.nanoTime();
        if (!layout.has(LayoutFeature.SHARED_CLAIMS)
                || layout.has(LayoutColumn.STATUS)
                || now - due < 0
                || !nextEndNanos.compareAndSet(due, now + END_INTERVAL.toNanos())) {
            return;
        }
        String lockedAt = sql.column(LayoutColumn.LOCKED_AT);
        // Binds: lock expiry, limit.
        String text = "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM " + sqlName() + " WHERE "
                + sql.is(EventStatus.DEAD) + " AND " + lockedAt + " < ? LIMIT ? FOR UPDATE SKIP LOCKED";
        List<String> lost = queryHeld(
                conn,
                text,
                binder -> binder.time(sql.plain(LayoutColumn.LOCKED_AT), lockExpiry)
                        .number(MAX_ENDED),
                row -> row.getString(1));
        if (lost.isEmpty()) {
            return;
        }
        boolean errors = layout.has(LayoutColumn.LAST_ERROR);
        String set = fence.letGo().substring(2) + (errors ? ", " + sql.column(LayoutColumn.LAST_ERROR) + " = ?" : "");
        updateHeldIds(
                conn,
                "UPDATE %1$s SET " + set + " WHERE %2$s",
                lost,
                binder -> {
                    if (errors) {
                        binder.text(LOST);
                    }
                },
                binder -> {});
        LOG.log(Level.ERROR, lost.size() + " events of table " + table() + " are dead: " + LOST + " " + lost);
    }

    @Override
    public boolean lockDue(Connection conn, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return run("lock due events", () -> {
            List<String> due = new ArrayList<>();
            for (String pending : sql.pendingParts()) {
                candidates(conn, pending, now, lockExpiry, skipRecent, limit, Content.IDS, "")
                        .forEach(candidate -> due.add(candidate.eventId()));
            }
            String text = "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM %1$s" + byId
                    + " WHERE %2$s FOR UPDATE SKIP LOCKED";
            return queryIds(conn, text, due, binder -> {}).containsAll(due);
        });
    }

    private List<LayoutRows.Candidate> candidates(
            Connection conn,
            String pending,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Content content,
            String lock)
            throws SQLException {
        TableShape shape = shape(conn);
        boolean idsOnly = content == Content.IDS;
        LayoutFence.Piece free = fence.free(lockExpiry);
        // Binds: now, latest created_at, those of the fence, limit.
        String text = """
                SELECT %s
                  FROM %s
                 WHERE %s
                   AND %s
                   AND %s%s
                 ORDER BY %s
                 LIMIT ?
                   %s
                """.formatted(
                        idsOnly ? rows.idColumns() : rows.columns(shape, Reading.SMALL) + fence.columns(),
                        sqlName(),
                        pending,
                        sql.isDue(),
                        AbstractJdbcEventStore.isOld(sql.column(LayoutColumn.CREATED_AT)),
                        free.sql(),
                        sql.order(),
                        lock);
        return queryHeld(
                conn,
                text,
                binder -> {
                    binder.time(sql.plain(LayoutColumn.AVAILABLE_AT), now)
                            .time(
                                    sql.plain(LayoutColumn.CREATED_AT),
                                    AbstractJdbcEventStore.latestCreation(now, skipRecent));
                    free.binds().to(binder);
                    binder.number(fence.reach(limit));
                },
                row -> idsOnly ? rows.unread(row, fence) : rows.candidate(row, shape, fence, Reading.SMALL));
    }

    /** Takes those that are still free. The rows are locked, so it takes them all, unless the database does not lock what it reads. */
    private Set<String> take(
            Connection conn, String token, List<LayoutRows.Candidate> candidates, Instant now, Instant lockExpiry)
            throws SQLException {
        Set<String> ids = candidates.stream().map(LayoutRows.Candidate::eventId).collect(Collectors.toSet());
        if (ids.isEmpty()) {
            return ids;
        }
        LayoutFence.Piece mine = fence.take(token, now);
        fence.remember(token, ids, now);
        if (mine.sql().isEmpty()) {
            return ids;
        }
        LayoutFence.Piece free = fence.free(lockExpiry);
        int count = updateHeldIds(
                conn,
                "UPDATE %1$s" + byId + " SET " + mine.sql() + " WHERE %2$s AND " + sql.isUnfinished() + free.sql(),
                ids,
                mine.binds(),
                free.binds());
        if (count == ids.size() && !fence.needsProof()) {
            return ids;
        }
        Set<String> held = heldBy(conn, token, ids);
        if (held.size() < count) {
            throw new EventStoreException(
                    "Table " + table() + " does not keep the microseconds of "
                            + layout.column(LayoutColumn.LOCKED_AT)
                            + ", by which its claims are known. Make it TIMESTAMPTZ, TIMESTAMP(6) or DATETIME(6).",
                    null);
        }
        fence.proved();
        return held;
    }

    private Set<String> heldBy(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        LayoutFence.Piece held = fence.held(token);
        return queryHeldIds(
                conn,
                "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM %1$s" + byId + " WHERE %2$s AND "
                        + sql.isUnfinished() + held.sql(),
                fence.mine(token, possible(conn, eventIds)),
                held.binds());
    }

    @Override
    public Optional<ClaimedEvent> claimOne(
            Connection conn, Claim claim, String eventId, Instant now, Instant lockExpiry, @Nullable Claim held) {
        return run("claim event " + eventId, () -> {
            boolean ours = held != null
                    && !lockHeld(conn, held.token(), List.of(eventId)).isEmpty();
            Instant expiry = ours ? now.plus(Duration.ofDays(1)) : lockExpiry; // what is ours is free for us
            LayoutFence.Piece free = fence.free(expiry);
            List<String> ids = List.copyOf(possible(conn, List.of(eventId))); // reads the shape, for the condition
            if (ids.isEmpty()) {
                return Optional.empty();
            }
            // Binds: id, due time, those of the fence.
            String text = """
                    SELECT %s%s
                      FROM %s
                     WHERE %s
                       AND %s
                       AND %s%s
                     %s
                    """.formatted(
                            rows.columns(shape(conn), Reading.WHOLE),
                            fence.columns(),
                            sqlName() + byId,
                            idCondition(1),
                            ours ? sql.isUnfinished() : sql.isPending(),
                            sql.isDue(),
                            free.sql(),
                            lockNow());
            List<LayoutRows.Candidate> found = queryHeld(
                            conn,
                            text,
                            binder -> {
                                bindIds(binder, ids);
                                binder.time(
                                        sql.plain(LayoutColumn.AVAILABLE_AT),
                                        ours ? now.plus(Duration.ofDays(36_500)) : now);
                                free.binds().to(binder);
                            },
                            row -> rows.candidate(row, shape(conn), fence, Reading.WHOLE))
                    .stream()
                    .filter(candidate -> !fence.isTaken(eventId, expiry))
                    .toList();
            boolean taken = !take(conn, claim.token(), found, now, expiry).isEmpty();
            return taken
                    ? Optional.of(new ClaimedEvent(
                            found.get(0).event(), claim, found.get(0).wasHeld() && !ours))
                    : Optional.empty();
        });
    }

    // ---- events that a claim holds ----

    @Override
    public Set<String> lockFree(Connection conn, Collection<String> eventIds) {
        return run("lock events", () -> {
            String id = sql.column(LayoutColumn.EVENT_ID);
            Set<String> others = new HashSet<>(possible(conn, eventIds));
            others.removeAll(queryHeldIds(
                    conn,
                    "SELECT " + id + " FROM %1$s" + byId + " WHERE %2$s FOR UPDATE SKIP LOCKED",
                    List.copyOf(others),
                    binder -> {}));
            return queryHeldIds(conn, "SELECT " + id + " FROM %1$s" + byId + " WHERE %2$s", others, binder -> {});
        });
    }

    @Override
    public boolean setAttempts(Connection conn, String token, String eventId, int attempts) {
        return updateHeld(
                        conn,
                        "set the attempts of event " + eventId,
                        sql.column(LayoutColumn.ATTEMPTS) + " = ?",
                        binder -> binder.number(attempts),
                        token,
                        List.of(eventId))
                > 0;
    }

    @Override
    public Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now) {
        return run("renew leases", () -> {
            Collection<String> ids = fence.mine(token, possible(conn, eventIds));
            if (ids.isEmpty()) {
                return Set.of();
            }
            LayoutFence.Piece held = fence.held(token); // before it gets one time more
            LayoutFence.Piece mine = fence.take(token, now);
            fence.remember(token, ids, now);
            if (!mine.sql().isEmpty()) {
                if (locksFirst()) {
                    lockHeld(conn, token, ids);
                }
                int count = updateHeldIds(
                        conn,
                        "UPDATE %1$s" + byId + " SET " + mine.sql() + " WHERE %2$s AND " + sql.isUnfinished()
                                + held.sql(),
                        ids,
                        mine.binds(),
                        held.binds());
                if (count == ids.size()) {
                    return Set.copyOf(ids);
                }
            }
            return heldBy(conn, token, ids);
        });
    }

    @Override
    public int release(Connection conn, String token, Collection<String> eventIds) {
        String letGo = fence.letGo();
        int count;
        if (letGo.isEmpty()) {
            count = run("give back events", () -> heldBy(conn, token, eventIds).size());
        } else {
            count = updateHeld(
                    conn, "give back events", letGo.substring(2) + sql.staysPending(), binder -> {}, token, eventIds);
        }
        fence.forget(token, eventIds);
        return count;
    }

    /** The claim stays, with a lease that ended long ago. */
    @Override
    public int releaseSuspects(Connection conn, String token, Collection<String> eventIds) {
        LayoutFence.Piece over = fence.leaseOver();
        if (over.sql().isEmpty()) {
            return run("give back suspects", () -> {
                Set<String> ids = heldBy(conn, token, eventIds);
                fence.remember(token, ids, LayoutFence.LONG_AGO);
                return ids.size();
            });
        }
        return updateHeld(conn, "give back suspects", over.sql() + sql.staysPending(), over.binds(), token, eventIds);
    }

    private int updateHeld(
            Connection conn, String what, String set, Binds binds, String token, Collection<String> eventIds) {
        return run(what, () -> {
            LayoutFence.Piece held = fence.held(token);
            if (locksFirst()) {
                lockHeld(conn, token, eventIds);
            }
            return updateHeldIds(
                    conn,
                    "UPDATE %1$s" + byId + " SET " + set + " WHERE %2$s AND " + sql.isUnfinished() + held.sql(),
                    fence.mine(token, possible(conn, eventIds)),
                    binds,
                    held.binds());
        });
    }

    @Override
    public Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        return run("write " + marks.size() + " outcomes", () -> {
            Set<String> written = new HashSet<>();
            Map<String, List<Mark>> byToken = marks.stream()
                    .sorted(Comparator.comparing(Mark::eventId))
                    .collect(Collectors.groupingBy(Mark::token, TreeMap::new, Collectors.toList()));
            for (Map.Entry<String, List<Mark>> of : byToken.entrySet()) {
                Set<String> held = lockHeld(conn, of.getKey(), ids(of.getValue()));
                List<Mark> ours = of.getValue().stream()
                        .filter(mark -> held.contains(mark.eventId()))
                        .toList();
                writeHeld(conn, ours, now);
                fence.forget(of.getKey(), held);
                written.addAll(held);
            }
            return written;
        });
    }

    private static List<String> ids(List<Mark> marks) {
        return marks.stream().map(Mark::eventId).toList();
    }

    /** Locks those of the events that the token holds, and answers them: from here on they are ours for the transaction. */
    @Override
    Set<String> lockHeld(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        LayoutFence.Piece held = fence.held(token);
        return queryHeldIds(
                conn,
                "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM %1$s" + byId + " WHERE %2$s AND "
                        + sql.isUnfinished() + held.sql() + " " + lockNow(),
                fence.mine(token, possible(conn, eventIds)),
                held.binds());
    }

    private void writeHeld(Connection conn, List<Mark> marks, Instant now) throws SQLException {
        List<String> done = ids(
                marks.stream().filter(mark -> mark.status() == EventStatus.DONE).toList());
        if (!done.isEmpty()) {
            updateHeldIds(
                    conn,
                    "UPDATE %1$s" + byId + " SET " + sql.set(EventStatus.DONE) + fence.letGo() + " WHERE %2$s",
                    done,
                    binder -> sql.bindMark(binder, EventStatus.DONE, 0, now, "", now),
                    binder -> {});
        }
        for (EventStatus failed : List.of(EventStatus.RETRY, EventStatus.DEAD)) {
            List<Mark> some =
                    marks.stream().filter(mark -> mark.status() == failed).toList();
            if (!some.isEmpty()) {
                writeFailed(conn, failed, some, now);
            }
        }
    }

    private void writeFailed(Connection conn, EventStatus status, List<Mark> marks, Instant now) throws SQLException {
        TableShape shape = shape(conn);
        String text = "UPDATE " + sqlName() + " SET " + sql.set(status) + fence.letGo() + " WHERE "
                + sql.column(LayoutColumn.EVENT_ID) + " = " + sql.parameter(shape, LayoutColumn.EVENT_ID);
        try (PreparedStatement update = conn.prepareStatement(text)) {
            for (Mark mark : marks) {
                Binder binder = new Binder(update, shape);
                boolean atOnce =
                        status == EventStatus.RETRY && mark.retryAfter().isZero();
                Instant time = atOnce && layout.isDueWhenNull() ? null : now.plus(mark.retryAfter());
                sql.bindMark(binder, status, mark.countsAttempt() ? 1 : 0, time, mark.error(), now);
                binder.text(mark.eventId());
                update.addBatch();
            }
            update.executeBatch(); // its counts are not asked for: the rows are locked
        }
    }

    @Override
    public Set<String> remove(Connection conn, List<Mark> done) {
        return run("delete " + done.size() + " delivered events", () -> {
            Set<String> removed = new HashSet<>();
            for (Map.Entry<String, List<String>> of :
                    HeldEventStatements.idsByToken(done).entrySet()) {
                Set<String> held = lockHeld(conn, of.getKey(), of.getValue());
                deleteIds(conn, held);
                fence.forget(of.getKey(), held);
                removed.addAll(held);
            }
            return removed;
        });
    }

    // ---- administration ----

    @Override
    public Backlog backlog(Connection conn) {
        return admin.backlog(conn);
    }

    @Override
    public long countDead(Connection conn) {
        return admin.countDead(conn);
    }

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
        return dialect.audit(conn, requestId);
    }

    @Override
    public List<AuditEntry> audits(Connection conn, int limit) {
        return dialect.audits(conn, limit);
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
        return dialect.beginAudit(conn, entry);
    }

    @Override
    public void progressAudit(Connection conn, String requestId, int affected, @Nullable Instant finishedAt) {
        dialect.progressAudit(conn, requestId, affected, finishedAt);
    }
}
