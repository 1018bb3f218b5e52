package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.admin.EventDetails.Attempt;
import outbox.admin.EventPauses;
import outbox.admin.Pause;
import outbox.jdbc.internal.claim.Claims;
import outbox.jdbc.internal.row.EventRows;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.order.Ordering;
import outbox.reconcile.ReconcileLog;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.ReconcileStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.EventControl;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.EventOrder.Position;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The store of the standard table, for the database of a {@link Dialect}. It reads the columns of the table on first
 * use. Columns beyond the 15 of the specification are used if they exist. It keeps no connection and is thread-safe.
 */
public abstract class AbstractJdbcEventStore extends TableEventStore
        implements EventOrder, EventControl, EventPauses, ReconcileLog {

    /** The table name that a store uses by default. */
    public static final String DEFAULT_TABLE = "outbox_event";

    private final EventRows rows;
    private final ClaimStatements claims;
    private final HeldEventStatements held;
    private final OrderStatements order;
    private final ControlStatements control;
    private final KeyStatements keys;
    private final AttemptStatements attempts;
    private final AdminStatements admin;
    private final PauseStatements pauses;
    private final ReconcileStatements reconcile;

    protected AbstractJdbcEventStore(Dialect dialect, String tableName) {
        this(dialect, new TableName(tableName), LayoutSql.standard(tableName, dialect));
    }

    private AbstractJdbcEventStore(Dialect dialect, TableName table, LayoutSql words) {
        super(table, dialect, words, words.fenceByToken());
        this.rows = new EventRows(dialect::byteSize);
        this.claims = dialect.newClaims(this);
        this.held = dialect.newHeld(this);
        this.order = new OrderStatements(this);
        this.control = new ControlStatements(this);
        this.keys = dialect.newKeys(this);
        this.attempts = new AttemptStatements(this);
        this.admin = new StandardAdmin(this, attempts);
        this.pauses = new PauseStatements(this);
        this.reconcile = new ReconcileStatements(this);
    }

    /** Returns the name by which {@link JdbcEventStores#get} finds this store. */
    public final String name() {
        return dialect().name();
    }

    @Override
    TableColumns readShape(Connection conn) throws SQLException {
        return dialect().readColumns(conn, table(), super.readShape(conn));
    }

    @Override
    final EventRows rows() {
        return rows;
    }

    @Override
    final Claims claims() {
        return claims;
    }

    @Override
    final HeldEventStatements held() {
        return held;
    }

    @Override
    final AdminStatements admin() {
        return admin;
    }

    /** Returns the statements about the order of events. */
    final OrderStatements order() {
        return order;
    }

    /** Returns the statements of delivery control. */
    final ControlStatements control() {
        return control;
    }

    /** Returns the statements about the keys of events. */
    final KeyStatements keys() {
        return keys;
    }

    // ---- writing ----

    @Override
    public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        return run("insert events", () -> {
            EventInsert insert = new EventInsert(this, shapeFor(conn, events));
            insert.insert(conn, List.copyOf(events), birth, true);
            return insert.isLasting();
        });
    }

    @Override
    public Map<String, String> insertUnlessTaken(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        return run(
                "insert events",
                () -> new EventInsert(this, shapeFor(conn, events)).insert(conn, List.copyOf(events), birth, false));
    }

    /** Reads the columns of the table again before an event is refused because a column is missing. */
    private TableColumns shapeFor(Connection conn, List<EventEnvelope> events) throws SQLException {
        TableColumns shape = shape(conn);
        for (EventEnvelope event : events) {
            for (String column : ControlStatements.columnsOf(event)) {
                if (!shape.has(column)) {
                    shape = shapeWith(conn, column);
                    if (!shape.has(column)) {
                        return shape; // the caller refuses the event
                    }
                }
            }
        }
        return shape;
    }

    // ---- claiming ----

    @Override
    public final boolean canWithhold() {
        return true;
    }

    @Override
    public List<String> endUntaken(Connection conn, ClaimRequest overdue, Instant now, String reason) {
        return run("end events that no node took", () -> claims.endUntaken(conn, overdue, now, reason));
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
        return run("check whether there are pauses for events", () -> pauses.exist(conn));
    }

    @Override
    public List<Pause> pauses(Connection conn) {
        return run("read the pauses of events", () -> pauses.read(conn));
    }

    @Override
    public boolean pause(Connection conn, Pause pause) {
        return run("pause events", () -> pauses.pause(conn, pause));
    }

    @Override
    public boolean resume(Connection conn, Pause.Scope scope, String name) {
        return run("resume events", () -> pauses.resume(conn, scope, name));
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
}
