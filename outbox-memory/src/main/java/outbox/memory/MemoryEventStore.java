package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.SystemTime;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.ClaimedEvent;
import outbox.spi.ConnectionProvider;
import outbox.spi.ErrorText;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;
import outbox.spi.MetricsExporter;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Keeps events in the memory of this process. When the process ends, committed events that were not delivered are
 * lost, unless a reconciliation writes them again. Other nodes do not see the events.
 *
 * <p>The store joins the transaction of the given {@link TxContext}, either of a database or of
 * {@link MemoryTransactions}. Events take effect when the transaction commits. They are dropped when it is rolled
 * back, entirely or to a savepoint. On any other connection that does not come from {@link #connections}, each
 * call takes effect at once. If the result of a commit is unknown, the store treats it as a rollback: a
 * reconciliation can write a lost event again, but nobody can take back an event about something that never
 * happened. If the context does not report an unknown result ({@link TxContext#whenUnknown}), the store drops the
 * events after one hour.
 *
 * <p>The store is bounded by number of events and by bytes. It keeps finished events until it needs their room. It
 * then removes delivered events first, the oldest before the others, except those that still hold a key. It removes
 * dead events last, and counts and logs them. It never removes a dead event that blocks an ordered aggregate. The
 * store has no history of attempts. Thread-safe.
 */
public final class MemoryEventStore implements LeasingEventStore {

    private final MemoryTable table;
    private final MemoryWork work;
    private final MemoryClaims claims;
    private final MemoryInserts inserts;
    private final List<Object> parts; // one for each capability

    /** Creates a store with the default bounds that joins the transactions of the context. */
    public MemoryEventStore(TxContext txContext) {
        this(builder().joining(txContext));
    }

    private MemoryEventStore(Builder builder) {
        String bounds = builder.maxEvents + " events and " + builder.maxBytes + " bytes";
        table = new MemoryTable(
                builder.maxEvents, builder.maxBytes, builder.longestTx, new MemoryLosses(builder.metrics, bounds));
        work = new MemoryWork(table, builder.txContext);
        claims = new MemoryClaims(table);
        inserts = new MemoryInserts(table, work, builder.whenFull, bounds);
        parts = List.of(
                this,
                new MemoryOrder(table, work, claims),
                new MemoryControl(table, work, claims, inserts),
                new MemoryAdmin(table, work, claims),
                new MemoryPauses(work));
    }

    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns connections for the dispatcher and the poller. They support transactions but no statements. Database
     * connections also work, but have no benefit here.
     */
    public ConnectionProvider connections() {
        return () -> MemoryConnection.open(table);
    }

    /** Returns the number of events that are NEW or RETRY, without those of open transactions. */
    public int pending() {
        return table.alone(() -> (int) table.rows().stream()
                .filter(row -> row.committed != null && row.committed.isPending())
                .count());
    }

    @Override
    public <T> Optional<T> capability(Class<T> type) {
        return parts.stream().filter(type::isInstance).map(type::cast).findFirst();
    }

    @Override
    public Instant now(Connection conn) {
        return SystemTime.now();
    }

    @Override
    public void prepare(Connection conn) {}

    @Override
    public void checkCommit(Connection conn) {
        work.checkCommit(conn);
    }

    // ---- writing ----

    @Override
    public void insertNew(Connection conn, EventEnvelope event) {
        insertAll(conn, List.of(event), null);
    }

    @Override
    public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        inserts.insert(conn, events, birth, true);
        return true; // if the context does not report a savepoint rollback, that rollback undoes nothing here
    }

    @Override
    public Set<String> existing(Connection conn, Collection<String> eventIds) {
        return work.in(
                conn, tx -> existing(tx, eventIds).map(RowState::eventId).collect(Collectors.toUnmodifiableSet()));
    }

    @Override
    public Set<String> dropped(Connection conn, List<EventEnvelope> events) {
        return inserts.dropped(conn, events);
    }

    // ---- marks of the specification, by event id ----

    @Override
    public int markDone(Connection conn, String eventId) {
        return markById(conn, eventId, state -> state.done(SystemTime.now()));
    }

    @Override
    public int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
        return markById(conn, eventId, state -> state.counted().retry(nextAt, ErrorText.clean(error)));
    }

    @Override
    public int markDead(Connection conn, String eventId, String error) {
        return markById(conn, eventId, state -> state.dead(SystemTime.now(), ErrorText.clean(error)));
    }

    private int markById(Connection conn, String eventId, UnaryOperator<RowState> change) {
        return work.changeAll(conn, List.of(eventId), state -> state.status() != EventStatus.DONE, change)
                .size();
    }

    // ---- reading and claiming ----

    @Override
    public List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
        return work.in(conn, tx -> {
            List<Row> due = claims.next(
                    tx, Ordering.off(), Withheld.NOTHING, state -> isDue(state, now, skipRecent) && state.isPending());
            return states(tx, MemoryClaims.first(due, tx, MemoryClaims.OLDEST_FIRST, limit)).stream()
                    .map(RowState::row)
                    .toList();
        });
    }

    @Override
    public List<OutboxEvent> claimPending(
            Connection conn, String ownerId, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        ClaimRequest request = ClaimRequest.of(now, lockExpiry, limit).skippingRecent(skipRecent);
        return claim(conn, new Claim(ownerId, Long.MAX_VALUE), request).stream()
                .map(ClaimedEvent::event)
                .toList();
    }

    /** Reads every event completely, whatever the request asks for. */
    @Override
    public List<ClaimedEvent> claim(Connection conn, Claim claim, ClaimRequest request) {
        return work.in(conn, tx -> {
            table.claimedIn(request.ordering());
            List<Row> due = claims.next(
                    tx,
                    request.ordering(),
                    request.withheld(),
                    state -> state.isPending()
                            && isDue(state, request.now(), request.skipRecent())
                            && state.isFree(request.lockExpiry()));
            List<ClaimedEvent> claimed = new ArrayList<>();
            for (Row row : claims.chosen(due, tx, request.limit())) {
                RowState state = Objects.requireNonNull(row.seenBy(tx));
                table.change(tx, row, state.lockedBy(claim.token(), request.now()));
                claimed.add(new ClaimedEvent(state.row(), claim, state.lockedBy() != null));
            }
            return claimed;
        });
    }

    @Override
    public boolean canWithhold() {
        return true;
    }

    @Override
    public Map<String, Long> sizes(Connection conn, Collection<String> eventIds) {
        return work.in(
                conn,
                tx -> existing(tx, eventIds).collect(Collectors.toMap(RowState::eventId, state ->
                        (long) state.event().payloadSize())));
    }

    @Override
    public List<OutboxEvent> load(Connection conn, Collection<String> eventIds) {
        return work.in(
                conn,
                tx -> existing(tx, eventIds)
                        .sorted(MemoryClaims.OLDEST_FIRST)
                        .map(RowState::row)
                        .toList());
    }

    private Stream<RowState> existing(MemoryTx tx, Collection<String> eventIds) {
        return eventIds.stream()
                .map(table::row)
                .filter(Objects::nonNull)
                .map(row -> row.seenBy(tx))
                .filter(Objects::nonNull);
    }

    private static boolean isDue(RowState state, Instant now, Duration skipRecent) {
        return !state.availableAt().isAfter(now)
                && (skipRecent.isZero() || !state.createdAt().isAfter(now.minus(skipRecent)));
    }

    private static List<RowState> states(MemoryTx tx, List<Row> rows) {
        return rows.stream().map(row -> Objects.requireNonNull(row.seenBy(tx))).toList();
    }

    @Override
    public Optional<ClaimedEvent> claimOne(
            Connection conn, Claim claim, String eventId, Instant now, Instant lockExpiry, @Nullable Claim held) {
        String ours = held == null ? "" : held.token();
        return work.in(conn, tx -> {
            Row row = table.row(eventId);
            RowState state = row == null || row.isLockedFor(tx) ? null : row.seenBy(tx);
            if (row == null
                    || state == null
                    || !state.isPending()
                    || !(ours.equals(state.lockedBy())
                            || isDue(state, now, Duration.ZERO) && state.isFree(lockExpiry))) {
                return Optional.empty();
            }
            table.change(tx, row, state.lockedBy(claim.token(), now));
            boolean suspect = state.lockedBy() != null && !ours.equals(state.lockedBy());
            return Optional.of(new ClaimedEvent(state.row(), claim, suspect));
        });
    }

    // ---- claimed events ----

    /** Returns no ids: in memory, a change waits for the other transaction that has locked the row. */
    @Override
    public Set<String> lockFree(Connection conn, Collection<String> eventIds) {
        return Set.of();
    }

    @Override
    public boolean setAttempts(Connection conn, String token, String eventId, int attempts) {
        return !work.changeAll(
                        conn, List.of(eventId), state -> state.isHeldBy(token), state -> state.withAttempts(attempts))
                .isEmpty();
    }

    @Override
    public Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now) {
        return work.changeAll(conn, eventIds, state -> state.isHeldBy(token), state -> state.lockedBy(token, now));
    }

    @Override
    public int release(Connection conn, String token, Collection<String> eventIds) {
        return work.changeAll(conn, eventIds, state -> state.isHeldBy(token), state -> state.lockedBy(null, null))
                .size();
    }

    @Override
    public int releaseSuspects(Connection conn, String token, Collection<String> eventIds) {
        return work.changeAll(
                        conn, eventIds, state -> state.isHeldBy(token), state -> state.lockedBy(token, Instant.EPOCH))
                .size();
    }

    @Override
    public Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        return work.in(conn, tx -> {
            Set<String> written = new HashSet<>();
            for (Mark mark : marks) {
                if (work.change(
                        tx, mark.eventId(), state -> state.isHeldBy(mark.token()), state -> marked(state, mark, now))) {
                    written.add(mark.eventId());
                }
            }
            return written;
        });
    }

    private static RowState marked(RowState state, Mark mark, Instant now) {
        RowState counted = mark.countsAttempt() ? state.counted() : state;
        String error = ErrorText.clean(mark.error());
        return switch (mark.status()) {
            case DONE -> counted.done(now);
            case DEAD -> counted.dead(now, error);
            default -> counted.retry(now.plus(mark.retryAfter()), error);
        };
    }

    @Override
    public Set<String> remove(Connection conn, List<Mark> done) {
        return work.in(conn, tx -> {
            Set<String> removed = new HashSet<>();
            for (Mark mark : done) {
                if (work.change(tx, mark.eventId(), state -> state.isHeldBy(mark.token()), state -> null)) {
                    removed.add(mark.eventId());
                }
            }
            return removed;
        });
    }

    // ---- events that no node delivers ----

    @Override
    public List<String> endUntaken(Connection conn, ClaimRequest overdue, Instant now, String reason) {
        return work.in(
                conn,
                tx -> work.end(
                        tx,
                        claims.next(
                                tx,
                                overdue.ordering(),
                                overdue.withheld(),
                                state -> state.status() == EventStatus.NEW
                                        && state.attempts() == 0
                                        && isDue(state, overdue.now(), Duration.ZERO)
                                        && state.isFree(overdue.lockExpiry())),
                        overdue.limit(),
                        now,
                        reason));
    }

    /** Returns no ids: every due time in memory was checked when the event was written. */
    @Override
    public List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
        return List.of();
    }

    /** Collects the settings of a store. Every setter rejects invalid values. */
    public static final class Builder {

        private @Nullable TxContext txContext;
        private int maxEvents = 10_000;
        private long maxBytes = Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 16);
        private WhenFull whenFull = WhenFull.REFUSE;
        private MetricsExporter metrics = MetricsExporter.NOOP;
        private Duration longestTx = MemoryTable.LONGEST_TX;

        private Builder() {}

        /** The transactions that writes join; default: only those of {@link MemoryTransactions}. */
        public Builder joining(TxContext txContext) {
            this.txContext = Objects.requireNonNull(txContext, "txContext");
            return this;
        }

        /** Maximum number of events, including finished ones; default 10,000. */
        public Builder maxEvents(int maxEvents) {
            if (maxEvents < 1) {
                throw new IllegalArgumentException("maxEvents must be positive: " + maxEvents);
            }
            this.maxEvents = maxEvents;
            return this;
        }

        /**
         * Approximate memory limit: payload and headers, plus 512 bytes per event. Default: 64 MiB, but at most a
         * sixteenth of the heap.
         */
        public Builder maxBytes(long maxBytes) {
            if (maxBytes < 1) {
                throw new IllegalArgumentException("maxBytes must be positive: " + maxBytes);
            }
            this.maxBytes = maxBytes;
            return this;
        }

        /** Default: {@link WhenFull#REFUSE}. */
        public Builder whenFull(WhenFull whenFull) {
            this.whenFull = Objects.requireNonNull(whenFull, "whenFull");
            return this;
        }

        /**
         * Receives the counts of dropped events and of removed dead events; default {@link MetricsExporter#NOOP}.
         */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        Builder longestTx(Duration longest) {
            this.longestTx = longest;
            return this;
        }

        public MemoryEventStore build() {
            return new MemoryEventStore(this);
        }
    }
}
