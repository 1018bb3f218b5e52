package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.admin.AuditEntry;
import outbox.admin.Backlog;
import outbox.admin.EventAdministration;
import outbox.admin.EventAdministration.ClaimHolder;
import outbox.admin.EventAdministration.Replay;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.OutboxStatistics.TypeCount;
import outbox.jdbc.internal.claim.ClaimTerms;
import outbox.jdbc.internal.claim.Claims;
import outbox.jdbc.internal.claim.Due;
import outbox.jdbc.internal.claim.LayoutFence;
import outbox.jdbc.internal.row.Candidate;
import outbox.jdbc.internal.row.ContentSql.Reading;
import outbox.jdbc.internal.row.EventReader;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.jdbc.internal.sql.TimedCount;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimRequest.Content;
import outbox.spi.ClaimedEvent;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The common part of the standard store and the stores of other layouts. The statements are in separate classes.
 * They use the SQL of the layout ({@link LayoutSql}), its check of claims ({@link LayoutFence}) and the
 * {@link Dialect}. Keeps no connection. Thread-safe.
 */
abstract class TableEventStore extends JdbcTable implements LeasingEventStore, EventAdministration {

    private final LayoutSql sql;
    private final LayoutFence fence;
    private final AuditStatements audit;

    TableEventStore(TableName table, Dialect dialect, LayoutSql sql, LayoutFence fence) {
        super(table, dialect);
        this.sql = sql;
        this.fence = fence;
        this.audit = new AuditStatements(this);
    }

    final LayoutSql sql() {
        return sql;
    }

    final LayoutFence fence() {
        return fence;
    }

    abstract EventReader rows();

    abstract Claims claims();

    abstract HeldEventStatements held();

    abstract AdminStatements admin();

    @Override
    public final String tableName() {
        return table().value();
    }

    @Override
    public final Instant now(Connection conn) {
        return run("read the clock of the database", () -> dialect().now(conn));
    }

    @Override
    public final void prepare(Connection conn) throws SQLException {
        dialect().prepare(conn);
    }

    @Override
    public final void checkCommit(Connection conn) {
        run("check whether the transaction can commit", () -> {
            dialect().checkCommit(conn);
            return conn;
        });
    }

    @Override
    public final void insertNew(Connection conn, EventEnvelope event) {
        insertAll(conn, List.of(event), null);
    }

    @Override
    public final Set<String> existing(Connection conn, Collection<String> eventIds) {
        return run("look for events", () -> existingIds(conn, eventIds));
    }

    // ---- marks of the specification: by event id ----

    @Override
    public final int markDone(Connection conn, String eventId) {
        return mark(conn, EventStatus.DONE, eventId, 0, null, "");
    }

    @Override
    public final int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
        return mark(conn, EventStatus.RETRY, eventId, 1, nextAt, error);
    }

    @Override
    public final int markDead(Connection conn, String eventId, String error) {
        return mark(conn, EventStatus.DEAD, eventId, 0, null, error);
    }

    private int mark(
            Connection conn, EventStatus status, String eventId, int counted, @Nullable Instant time, String error) {
        return run("mark event " + eventId + " " + status, () -> {
            Instant now = dialect().now(conn);
            Collection<String> ids = possible(conn, List.of(eventId));
            fence.forgetAll(ids);
            return updateIds(
                    conn,
                    "UPDATE %1$s" + byPrimaryKey() + " SET " + sql.set(status) + fence.letGo() + " WHERE %2$s AND NOT ("
                            + sql.is(EventStatus.DONE) + ")",
                    ids,
                    binder -> sql.bindMark(binder, status, counted, time == null ? now : time, error, now),
                    binder -> {});
        });
    }

    // ---- reading and claiming ----

    @Override
    public final List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
        return run("read pending events", () -> {
            TableColumns shape = shape(conn);
            String created = sql.column(LayoutColumn.CREATED_AT);
            // Binds: now, latest created_at, limit.
            String text = """
                    SELECT %s
                      FROM %s
                     WHERE %s
                       AND %s
                       AND %s
                     ORDER BY %s
                     LIMIT ?
                    """.formatted(
                            rows().columns(shape, Reading.WHOLE),
                            sqlName(),
                            sql.isPending(),
                            sql.isDue(),
                            Due.isOld(created),
                            created + (sql.has(LayoutColumn.SEQUENCE) ? ", " + sql.column(LayoutColumn.SEQUENCE) : ""));
            return queryAnew(
                    conn,
                    text,
                    binder -> binder.time(sql.plain(LayoutColumn.AVAILABLE_AT), now)
                            .time(sql.plain(LayoutColumn.CREATED_AT), Due.latestCreation(now, skipRecent))
                            .number(limit),
                    row -> rows().whole(row, shape));
        });
    }

    @Override
    public final List<OutboxEvent> claimPending(
            Connection conn, String ownerId, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        ClaimRequest request = ClaimRequest.of(now, lockExpiry, limit).skippingRecent(skipRecent);
        return claim(conn, new Claim(ownerId, Long.MAX_VALUE), request).stream()
                .map(ClaimedEvent::event)
                .toList();
    }

    @Override
    public final List<ClaimedEvent> claim(Connection conn, Claim claim, ClaimRequest request) {
        ClaimTerms terms = ClaimTerms.of(claim, request);
        List<ClaimedEvent> claimed =
                run("claim events" + (terms.ordering().isOn() ? " in order" : ""), () -> claims().claim(conn, terms));
        return request.content() == Content.ALL ? complete(conn, claimed) : claimed;
    }

    /** Reads the large values that the statement of a claim leaves in the table. */
    private List<ClaimedEvent> complete(Connection conn, List<ClaimedEvent> claimed) {
        List<String> large = claimed.stream()
                .filter(event -> !event.complete())
                .map(event -> event.event().eventId())
                .toList();
        if (large.isEmpty()) {
            return claimed;
        }
        Map<String, OutboxEvent> loaded =
                load(conn, large).stream().collect(Collectors.toMap(OutboxEvent::eventId, row -> row));
        return claimed.stream()
                .map(event -> new ClaimedEvent(
                        loaded.getOrDefault(event.event().eventId(), event.event()), event.claim(), event.suspect()))
                .toList();
    }

    @Override
    public final Optional<ClaimedEvent> claimOne(
            Connection conn, Claim claim, String eventId, Instant now, Instant lockExpiry, @Nullable Claim held) {
        Due due = Due.of(ClaimRequest.of(now, lockExpiry, 1));
        return run("claim event " + eventId, () -> claims().claimOne(conn, claim, eventId, due, held));
    }

    @Override
    public final Map<String, Long> sizes(Connection conn, Collection<String> eventIds) {
        return run("read the sizes of " + eventIds.size() + " events", () -> {
            TableColumns shape = shape(conn);
            Map<String, Long> found = new HashMap<>();
            readIds(
                    conn,
                    "SELECT " + idColumn() + ", " + rows().sizes(shape) + " FROM %1$s" + byPrimaryKey() + " WHERE %2$s",
                    possible(conn, eventIds),
                    row -> found.put(row.getString(1), rows().readBytes(row, shape)));
            return found;
        });
    }

    @Override
    public final List<OutboxEvent> load(Connection conn, Collection<String> eventIds) {
        return run("read " + eventIds.size() + " events", () -> {
            TableColumns shape = shape(conn);
            List<Candidate> found = new ArrayList<>();
            readIds(
                    conn,
                    "SELECT " + rows().columns(shape, Reading.WHOLE) + " FROM %1$s" + byPrimaryKey() + " WHERE %2$s",
                    possible(conn, eventIds),
                    row -> found.add(new Candidate(rows().whole(row, shape), rows().sequence(row), false, true)));
            return found.stream().sorted(Candidate.ORDER).map(Candidate::event).toList();
        });
    }

    @Override
    public final List<String> endUnreachable(
            Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
        return run(
                "end events that are never due", () -> claims().endUnreachable(conn, now, lockExpiry, reason, limit));
    }

    @Override
    public final boolean lockDue(Connection conn, ClaimRequest request) {
        return run("lock due events", () -> {
            List<String> due = claims().due(conn, Due.of(request), request.limit());
            String text = "SELECT " + idColumn() + " FROM %1$s" + byPrimaryKey() + " WHERE %2$s FOR UPDATE SKIP LOCKED";
            return queryIds(conn, text, due, binder -> {}).containsAll(due);
        });
    }

    // ---- events that a claim holds ----

    @Override
    public final Set<String> lockFree(Connection conn, Collection<String> eventIds) {
        return run("lock events", () -> held().lockFree(conn, eventIds));
    }

    @Override
    public final boolean setAttempts(Connection conn, String token, String eventId, int attempts) {
        return run("set the attempts of event " + eventId, () -> held().setAttempts(conn, token, eventId, attempts));
    }

    @Override
    public final Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now) {
        return run("renew leases", () -> held().renew(conn, token, eventIds, now));
    }

    @Override
    public final int release(Connection conn, String token, Collection<String> eventIds) {
        return run("release events", () -> held().release(conn, token, eventIds));
    }

    @Override
    public final int releaseSuspects(Connection conn, String token, Collection<String> eventIds) {
        return run("release suspects", () -> held().releaseSuspects(conn, token, eventIds));
    }

    @Override
    public final Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        return run("write " + marks.size() + " outcomes", () -> held().mark(conn, marks, now));
    }

    @Override
    public final Set<String> remove(Connection conn, List<Mark> done) {
        return run("delete " + done.size() + " delivered events", () -> held().remove(conn, done));
    }

    // ---- administration ----

    @Override
    public final List<TypeCount> countByType(Connection conn) {
        return run("count events", () -> admin().countByType(conn));
    }

    @Override
    public final Optional<Instant> oldestPending(Connection conn) {
        return run("find the oldest pending event", () -> admin().oldestPending(conn));
    }

    @Override
    public final Backlog backlog(Connection conn) {
        return run("read the backlog", () -> admin().backlog(conn));
    }

    /** On PostgreSQL, users can add an index for this: {@code ON outbox_event (done_at) WHERE status = 3}. */
    @Override
    public final long countDead(Connection conn) {
        return run("count dead events", () -> TimedCount.of(conn, sqlName(), sql.is(EventStatus.DEAD)));
    }

    @Override
    public final Optional<EventDetails> find(Connection conn, String eventId) {
        return run("read event " + eventId, () -> admin().find(conn, eventId));
    }

    @Override
    public final List<EventSummary> find(Connection conn, EventQuery query) {
        return run("search events", () -> admin().find(conn, query));
    }

    @Override
    public final long count(Connection conn, EventFilter filter) {
        return run("count events", () -> admin().count(conn, filter));
    }

    @Override
    public final List<String> findIds(Connection conn, EventFilter filter, int limit) {
        return run("find events", () -> admin().findIds(conn, filter, limit));
    }

    @Override
    public final int replay(Connection conn, List<String> eventIds, Replay how) {
        return run("replay " + eventIds.size() + " events", () -> admin().replay(conn, eventIds, how));
    }

    @Override
    public final int discard(Connection conn, Collection<String> eventIds) {
        return run("discard " + eventIds.size() + " events", () -> admin().discard(conn, eventIds));
    }

    @Override
    public final int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit) {
        return run("purge " + terminal + " events", () -> admin().purge(conn, terminal, doneBefore, limit));
    }

    @Override
    public final List<ClaimHolder> claimHolders(Connection conn) {
        return run("read which nodes hold claims", () -> admin().claimHolders(conn));
    }

    @Override
    public final int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter claimed) {
        return run(
                "release claims of " + eventIds.size() + " events",
                () -> admin().releaseClaims(conn, eventIds, claimed));
    }

    @Override
    public final int makeDue(Connection conn, Collection<String> eventIds, Instant now) {
        return run("make " + eventIds.size() + " events due", () -> admin().makeDue(conn, eventIds, now));
    }

    @Override
    public final Optional<AuditEntry> audit(Connection conn, String requestId) {
        return run("read audit record " + requestId, () -> audit.read(conn, requestId));
    }

    @Override
    public final List<AuditEntry> audits(Connection conn, int limit) {
        return run("read audit records", () -> audit.list(conn, limit));
    }

    @Override
    public final boolean beginAudit(Connection conn, AuditEntry entry) {
        return run("write audit record " + entry.requestId(), () -> audit.begin(conn, entry));
    }

    @Override
    public final void progressAudit(Connection conn, String requestId, int affected, @Nullable Instant finishedAt) {
        run("write audit record " + requestId, () -> audit.progress(conn, requestId, affected, finishedAt));
    }
}
