package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.DuplicateKeyException;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.InvalidEventException;
import outbox.OutboxException;
import outbox.admin.AdminEventStore;
import outbox.admin.AuditEntry;
import outbox.admin.Backlog;
import outbox.admin.ClaimHolder;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.Pause;
import outbox.admin.PauseScope;
import outbox.admin.PausingEventStore;
import outbox.admin.TypeCount;
import outbox.internal.EventRules;
import outbox.internal.SystemTime;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.order.BlockedAggregate;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;
import outbox.spi.ConnectionProvider;
import outbox.spi.ControlledEventStore;
import outbox.spi.ErrorText;
import outbox.spi.Mark;
import outbox.spi.MetricsExporter;
import outbox.spi.OrderedEventStore;
import outbox.spi.Position;
import outbox.spi.Replay;
import outbox.spi.TxContext;
import outbox.spi.Withheld;
import outbox.spi.WithholdingEventStore;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
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
public final class MemoryEventStore
        implements OrderedEventStore, ControlledEventStore, AdminEventStore, WithholdingEventStore, PausingEventStore {

    private final MemoryTable table;
    private final MemoryClaims claims;
    private final MemoryAdmin admin;
    private final @Nullable JoinedTx joined;
    private final WhenFull whenFull;
    private final String bounds;
    private final Supplier<Instant> clock;

    /** Creates a store with the default bounds that joins the transactions of the context. */
    public MemoryEventStore(TxContext txContext) {
        this(builder().joining(txContext));
    }

    private MemoryEventStore(Builder builder) {
        bounds = builder.maxEvents + " events and " + builder.maxBytes + " bytes";
        table = new MemoryTable(
                builder.maxEvents, builder.maxBytes, builder.longestTx, new MemoryLosses(builder.metrics, bounds));
        claims = new MemoryClaims(table);
        admin = new MemoryAdmin(table);
        joined = builder.txContext == null ? null : new JoinedTx(builder.txContext, table);
        whenFull = builder.whenFull;
        clock = builder.clock;
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

    /** Runs the work in the transaction of the connection, completely or not at all. */
    private <T> T in(Connection conn, Function<MemoryTx, T> work) {
        MemoryConnection ours = MemoryConnection.of(conn, table);
        if (ours != null) {
            if (ours.isClosed()) {
                throw new OutboxException("The connection is closed", null);
            }
            return ours.isAutoCommit() ? atOnce(work) : run(ours.tx(), work);
        }
        JoinedTx business = joined;
        if (business == null || !business.isCurrent(conn)) {
            return atOnce(work);
        }
        MemoryTx tx = business.of(conn);
        Joined<T> joining = table.alone(() -> {
            int before = tx.size();
            return new Joined<>(run(tx, work), before, tx.size() > before);
        });
        if (joining.hasChanged()) {
            join(business, conn, tx, joining.before());
        }
        return joining.answer();
    }

    /** The result of work in a joined transaction. */
    private record Joined<T>(T answer, int before, boolean hasChanged) {}

    private void join(JoinedTx business, Connection conn, MemoryTx tx, int before) {
        try {
            business.changed(conn, tx, before);
        } catch (RuntimeException | Error e) { // the end of the transaction would not be reported
            table.undoTo(tx, before);
            throw e;
        }
    }

    private <T> T atOnce(Function<MemoryTx, T> work) {
        MemoryTx tx = new MemoryTx();
        T answer = run(tx, work);
        table.commit(tx);
        return answer;
    }

    private <T> T run(MemoryTx tx, Function<MemoryTx, T> work) {
        return table.alone(() -> {
            int before = tx.size();
            try {
                return work.apply(tx);
            } catch (RuntimeException | Error e) {
                table.undoTo(tx, before);
                throw e;
            }
        });
    }

    @Override
    public Instant now(Connection conn) {
        return clock.get();
    }

    @Override
    public void prepare(Connection conn) {}

    @Override
    public void checkCommit(Connection conn) {
        MemoryTx tx = joined == null ? null : joined.known(conn);
        if (tx != null) {
            table.requireOpen(tx);
        }
    }

    // ---- writing ----

    @Override
    public void insertNew(Connection conn, EventEnvelope event) {
        insertAll(conn, List.of(event), null);
    }

    @Override
    public boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        insert(conn, events, birth, true);
        return true; // if the context does not report a savepoint rollback, that rollback undoes nothing here
    }

    @Override
    public Set<String> existing(Connection conn, Collection<String> eventIds) {
        return in(
                conn,
                tx -> eventIds.stream()
                        .filter(id -> {
                            Row row = table.row(id);
                            return row != null && row.seenBy(tx) != null;
                        })
                        .collect(Collectors.toUnmodifiableSet()));
    }

    @Override
    public Map<String, String> insertUnlessTaken(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        return insert(conn, events, birth, false);
    }

    private Map<String, String> insert(
            Connection conn, List<EventEnvelope> events, @Nullable Claim birth, boolean refuseTaken) {
        for (EventEnvelope event : events) {
            if (event.deliverAfter() != null || event.expireAfter() != null) {
                throw new InvalidEventException(
                        "Event " + event.eventId() + " has a time relative to its write. Write it by an OutboxWriter.");
            }
        }
        return events.isEmpty() ? Map.of() : in(conn, tx -> insert(tx, events, birth, refuseTaken));
    }

    /**
     * Inserts the events first and makes room afterwards. Only then is it known how much room they need, and other
     * events are removed only if that is enough.
     */
    private Map<String, String> insert(
            MemoryTx tx, List<EventEnvelope> events, @Nullable Claim birth, boolean refuseTaken) {
        table.endAbandoned();
        Map<String, String> leftOut = new HashMap<>();
        for (EventEnvelope event : events) {
            int before = tx.size();
            String holder = insert(tx, event, birth);
            if (holder != null && refuseTaken) {
                throw new DuplicateKeyException(Objects.requireNonNull(event.dedupKey()), holder);
            }
            if (holder != null) {
                leftOut.put(event.eventId(), holder);
            } else if (whenFull == WhenFull.DROP && !table.makeRoom(clock.get())) {
                table.undoTo(tx, before);
                table.dropEvent(tx, event);
            }
        }
        if (whenFull == WhenFull.REFUSE && !table.makeRoom(clock.get())) {
            throw new MemoryFullException("There is no room in memory for " + show(events)
                    + ": the store is bounded by " + bounds + ". Roll back, or deliver faster.");
        }
        return leftOut;
    }

    private static String show(List<EventEnvelope> events) {
        EventEnvelope first = events.get(0);
        return events.size() > 1
                ? "the " + events.size() + " events of a write"
                : "event " + first.eventId() + " (type " + EventRules.show(first.eventType()) + ")";
    }

    /** Returns the id of the event that holds the key, or null if the event was inserted. */
    private @Nullable String insert(MemoryTx tx, EventEnvelope event, @Nullable Claim birth) {
        Instant now = clock.get();
        String key = event.dedupKey();
        Row place;
        Row holder;
        long waits;
        do {
            waits = table.waits();
            holder = key == null ? null : table.holderOf(tx, key, now);
            place = table.place(tx, event.eventId());
        } while (waits != table.waits());
        if (place == null) {
            throw new OutboxException("There is an event " + event.eventId() + " already", null);
        }
        if (holder != null) {
            return holder.eventId();
        }
        RowState state = RowState.written(event, place.number(), now);
        if (birth != null && event.availableAt() == null) {
            state = state.lockedBy(birth.token(), now);
        }
        table.insert(tx, place, state);
        return null;
    }

    @Override
    public Set<String> dropped(Connection conn, List<EventEnvelope> events) {
        if (whenFull == WhenFull.REFUSE) {
            return Set.of();
        }
        return in(
                conn,
                tx -> events.stream()
                        .filter(tx::hasDropped)
                        .map(EventEnvelope::eventId)
                        .collect(Collectors.toSet()));
    }

    // ---- marks of the specification, by event id ----

    @Override
    public int markDone(Connection conn, String eventId) {
        return markById(conn, eventId, state -> state.done(clock.get()));
    }

    @Override
    public int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
        return markById(conn, eventId, state -> state.counted().retry(nextAt, ErrorText.clean(error)));
    }

    @Override
    public int markDead(Connection conn, String eventId, String error) {
        return markById(conn, eventId, state -> state.dead(clock.get(), ErrorText.clean(error)));
    }

    private int markById(Connection conn, String eventId, UnaryOperator<RowState> change) {
        return changeAll(conn, List.of(eventId), state -> state.status() != EventStatus.DONE, change)
                .size();
    }

    /**
     * Changes the events that fulfil the condition, after waiting for other transactions that have changed them. If
     * the function returns null, the event is deleted.
     */
    private Set<String> changeAll(
            Connection conn,
            Collection<String> eventIds,
            Predicate<RowState> condition,
            Function<RowState, @Nullable RowState> change) {
        return in(conn, tx -> {
            Set<String> changed = new HashSet<>();
            for (String eventId : eventIds) {
                if (change(tx, eventId, condition, change)) {
                    changed.add(eventId);
                }
            }
            return changed;
        });
    }

    private boolean change(
            MemoryTx tx, String eventId, Predicate<RowState> condition, Function<RowState, @Nullable RowState> change) {
        Row row = table.row(eventId);
        if (row == null || row.isLockedFor(tx) && row.committed == null) {
            return false; // this transaction does not see the event
        }
        table.await(tx, row);
        RowState state = row.seenBy(tx);
        if (state == null || !condition.test(state)) {
            return false;
        }
        table.change(tx, row, change.apply(state));
        return true;
    }

    // ---- reading and claiming ----

    @Override
    public List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
        return in(conn, tx -> {
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
        return claim(conn, new Claim(ownerId, Long.MAX_VALUE), now, lockExpiry, skipRecent, limit).stream()
                .map(ClaimedEvent::event)
                .toList();
    }

    @Override
    public List<ClaimedEvent> claim(
            Connection conn, Claim claim, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return claimInOrder(conn, claim, now, lockExpiry, skipRecent, limit, Ordering.off());
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
    public List<ClaimedEvent> claimExcept(
            Connection conn,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering,
            Withheld withheld) {
        return in(conn, tx -> {
            table.claimedIn(ordering);
            List<Row> due = claims.next(
                    tx,
                    ordering,
                    withheld,
                    state -> state.isPending() && isDue(state, now, skipRecent) && state.isFree(lockExpiry));
            List<ClaimedEvent> claimed = new ArrayList<>();
            for (Row row : claims.chosen(due, tx, limit)) {
                RowState state = Objects.requireNonNull(row.seenBy(tx));
                table.change(tx, row, state.lockedBy(claim.token(), now));
                claimed.add(new ClaimedEvent(state.row(), claim, state.lockedBy() != null));
            }
            return claimed;
        });
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
        return in(conn, tx -> {
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
        return !changeAll(conn, List.of(eventId), state -> state.isHeldBy(token), state -> state.withAttempts(attempts))
                .isEmpty();
    }

    @Override
    public Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now) {
        return changeAll(conn, eventIds, state -> state.isHeldBy(token), state -> state.lockedBy(token, now));
    }

    @Override
    public int release(Connection conn, String token, Collection<String> eventIds) {
        return changeAll(conn, eventIds, state -> state.isHeldBy(token), state -> state.lockedBy(null, null))
                .size();
    }

    @Override
    public int releaseSuspects(Connection conn, String token, Collection<String> eventIds) {
        return changeAll(conn, eventIds, state -> state.isHeldBy(token), state -> state.lockedBy(token, Instant.EPOCH))
                .size();
    }

    @Override
    public Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        return in(conn, tx -> {
            Set<String> written = new HashSet<>();
            for (Mark mark : marks) {
                if (change(
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
        return in(conn, tx -> {
            Set<String> removed = new HashSet<>();
            for (Mark mark : done) {
                if (change(tx, mark.eventId(), state -> state.isHeldBy(mark.token()), state -> null)) {
                    removed.add(mark.eventId());
                }
            }
            return removed;
        });
    }

    // ---- order ----

    @Override
    public void requireOrder(Connection conn) {}

    @Override
    public Map<String, Position> positions(Connection conn, Collection<String> eventIds, Ordering ordering) {
        return in(conn, tx -> {
            table.claimedIn(ordering);
            return claims.positions(tx, eventIds, ordering);
        });
    }

    @Override
    public List<BlockedAggregate> blockedAggregates(Connection conn, int limit) {
        return in(conn, tx -> claims.blocked(tx, limit));
    }

    @Override
    public int skip(Connection conn, Collection<String> eventIds) {
        return changeAll(
                        conn,
                        eventIds,
                        state -> state.status() == EventStatus.DEAD
                                && state.number() > 0
                                && state.event().aggregateId() != null,
                        RowState::skipped)
                .size();
    }

    // ---- control ----

    @Override
    public Optional<Pending> find(Connection conn, EventRef event, boolean latest) {
        return in(conn, tx -> {
            RowState state = find(tx, event, latest);
            return Optional.ofNullable(state).map(MemoryEventStore::pending);
        });
    }

    private static Pending pending(RowState state) {
        return new Pending(
                state.eventId(), state.status(), state.lockedBy(), state.event().dedupKey());
    }

    @Override
    public Optional<Pending> findLast(Connection conn, String dedupKey) {
        return in(conn, tx -> Optional.ofNullable(table.lastWith(tx, dedupKey)).map(MemoryEventStore::pending));
    }

    @Override
    public Optional<String> purgeKeys(Connection conn, Instant doneBefore, String after, int limit) {
        return Optional.empty(); // a key is removed together with its event
    }

    private @Nullable RowState find(MemoryTx tx, EventRef event, boolean latest) {
        String key = event.dedupKey();
        Instant now = clock.get();
        if (key != null && !latest) {
            return table.seenHolder(tx, key, now);
        }
        Row row = key != null ? table.holderOf(tx, key, now) : table.row(Objects.requireNonNull(event.eventId()));
        if (row == null) {
            return null;
        }
        if (latest) {
            table.await(tx, row);
        }
        return row.seenBy(tx);
    }

    @Override
    public boolean cancel(Connection conn, Pending found) {
        return !changeAll(conn, List.of(found.eventId()), state -> isAsFound(state, found), state -> null)
                .isEmpty();
    }

    @Override
    public boolean reschedule(Connection conn, Pending found, Instant availableAt) {
        return !changeAll(
                        conn,
                        List.of(found.eventId()),
                        state -> isAsFound(state, found),
                        state -> state.dueAt(availableAt))
                .isEmpty();
    }

    private static boolean isAsFound(RowState state, Pending found) {
        return state.isPending() && Objects.equals(state.lockedBy(), found.lockedBy());
    }

    @Override
    public Optional<Instant> nextDue(Connection conn, Instant now) {
        return in(
                conn,
                tx -> table.rows().stream()
                        .map(row -> row.seenBy(tx))
                        .flatMap(Stream::ofNullable)
                        .filter(state -> state.isPending() && state.lockedBy() == null)
                        .map(RowState::availableAt)
                        .filter(due -> due.isAfter(now))
                        .min(Instant::compareTo));
    }

    @Override
    public List<String> expire(Connection conn, Instant now, Instant lockExpiry, String reason, int limit) {
        return in(conn, tx -> {
            List<String> expired = new ArrayList<>();
            for (EventStatus status : List.of(EventStatus.NEW, EventStatus.RETRY)) {
                expired.addAll(end(
                        tx,
                        claims.next(
                                tx,
                                Ordering.off(),
                                Withheld.NOTHING,
                                state -> state.status() == status
                                        && state.expiresAt() != null
                                        && state.expiresAt().isBefore(now)
                                        && state.isFree(lockExpiry)),
                        limit,
                        now,
                        reason));
            }
            return expired;
        });
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
        return in(
                conn,
                tx -> end(
                        tx,
                        claims.next(
                                tx,
                                ordering,
                                except,
                                state -> state.status() == EventStatus.NEW
                                        && state.attempts() == 0
                                        && isDue(state, dueBefore, Duration.ZERO)
                                        && state.isFree(lockExpiry)),
                        limit,
                        now,
                        reason));
    }

    private List<String> end(MemoryTx tx, List<Row> rows, int limit, Instant now, String reason) {
        List<String> ended = new ArrayList<>();
        for (Row row : MemoryClaims.first(rows, tx, MemoryClaims.OLDEST_FIRST, limit)) {
            RowState state = Objects.requireNonNull(row.seenBy(tx));
            table.change(tx, row, state.dead(now, reason));
            ended.add(row.eventId());
        }
        return ended;
    }

    // ---- pauses ----

    @Override
    public boolean hasPauses(Connection conn) {
        return true;
    }

    @Override
    public List<Pause> pauses(Connection conn) {
        return in(conn, tx -> admin.pauses());
    }

    @Override
    public boolean pause(Connection conn, Pause pause) {
        return in(conn, tx -> admin.pause(tx, pause));
    }

    @Override
    public boolean resume(Connection conn, PauseScope scope, String name) {
        return in(conn, tx -> admin.resume(tx, scope, name));
    }

    // ---- administration ----

    @Override
    public List<TypeCount> countByType(Connection conn) {
        return in(conn, admin::countByType);
    }

    @Override
    public Optional<Instant> oldestPending(Connection conn) {
        return in(conn, tx -> Optional.ofNullable(admin.oldestPending(tx)));
    }

    @Override
    public Backlog backlog(Connection conn) {
        return in(conn, tx -> admin.backlog(tx, clock.get()));
    }

    @Override
    public Optional<EventDetails> find(Connection conn, String eventId) {
        return in(conn, tx -> {
            Row row = table.row(eventId);
            RowState state = row == null ? null : row.seenBy(tx);
            return state == null
                    ? Optional.empty()
                    : Optional.of(new EventDetails(state.summary(), state.row(), state.lastError(), List.of()));
        });
    }

    @Override
    public List<EventSummary> find(Connection conn, EventQuery query) {
        return in(conn, tx -> admin.find(tx, query));
    }

    @Override
    public long count(Connection conn, EventFilter filter) {
        return in(conn, tx -> admin.count(tx, filter));
    }

    @Override
    public List<String> findIds(Connection conn, EventFilter filter, int limit) {
        return in(conn, tx -> admin.findIds(tx, filter, limit));
    }

    @Override
    public int replay(Connection conn, List<String> eventIds, Replay how) {
        return in(conn, tx -> {
            int replayed = 0;
            for (int i = 0; i < eventIds.size(); i++) {
                Instant due = how.dueAt(i);
                String eventId = eventIds.get(i);
                if (isKeyFree(tx, eventId)
                        && change(
                                tx,
                                eventId,
                                state -> how.from().contains(state.status())
                                        && (state.status() != EventStatus.RETRY || state.lockedBy() == null),
                                state -> state.replayed(due, how.mark(state.headersJson())))) {
                    replayed++;
                }
            }
            return replayed;
        });
    }

    /** Checks again after each wait for another transaction. */
    private boolean isKeyFree(MemoryTx tx, String eventId) {
        boolean free;
        long waits;
        do {
            waits = table.waits();
            Row row = table.row(eventId);
            if (row == null) {
                return false;
            }
            table.await(tx, row);
            RowState state = row.seenBy(tx);
            String key = state == null ? null : state.event().dedupKey();
            Row holder = key == null ? null : table.holderOf(tx, key, clock.get());
            free = holder == null || holder == row;
        } while (waits != table.waits());
        return free;
    }

    @Override
    public int discard(Connection conn, Collection<String> eventIds) {
        return changeAll(conn, eventIds, state -> state.status() == EventStatus.DEAD, state -> null)
                .size();
    }

    @Override
    public int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit) {
        if (!terminal.isTerminal()) {
            throw new IllegalArgumentException("Only DONE and DEAD events can be purged, not " + terminal);
        }
        Instant now = clock.get();
        return in(conn, tx -> {
            List<Row> over = claims.next(
                    tx,
                    Ordering.off(),
                    Withheld.NOTHING,
                    state -> state.status() == terminal
                            && state.doneAt() != null
                            && state.doneAt().isBefore(doneBefore)
                            && !state.hasKey(now));
            List<Row> some = MemoryClaims.first(over, tx, Comparator.comparing(RowState::eventId), limit);
            some.forEach(row -> table.change(tx, row, null));
            return some.size();
        });
    }

    @Override
    public Optional<AuditEntry> audit(Connection conn, String requestId) {
        return in(conn, tx -> Optional.ofNullable(admin.audit(requestId)));
    }

    @Override
    public List<AuditEntry> audits(Connection conn, int limit) {
        return in(conn, tx -> admin.audits(limit));
    }

    @Override
    public List<ClaimHolder> claimHolders(Connection conn) {
        return in(conn, admin::claimHolders);
    }

    @Override
    public int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter claimed) {
        return changeAll(
                        conn,
                        eventIds,
                        state -> state.isPending() && MemoryAdmin.isClaimed(state, claimed),
                        state -> state.lockedBy(state.lockedBy(), Instant.EPOCH))
                .size();
    }

    @Override
    public int makeDue(Connection conn, Collection<String> eventIds, Instant now) {
        return changeAll(
                        conn,
                        eventIds,
                        state -> state.isPending()
                                && state.lockedBy() == null
                                && state.availableAt().isAfter(now),
                        state -> state.dueAt(now))
                .size();
    }

    @Override
    public boolean beginAudit(Connection conn, AuditEntry entry) {
        return in(conn, tx -> admin.beginAudit(tx, entry));
    }

    @Override
    public void progressAudit(Connection conn, String requestId, int affected, @Nullable Instant finishedAt) {
        in(conn, tx -> {
            admin.progressAudit(tx, requestId, affected, finishedAt);
            return requestId;
        });
    }

    /** Collects the settings of a store. Every setter rejects invalid values. */
    public static final class Builder {

        private @Nullable TxContext txContext;
        private int maxEvents = 10_000;
        private long maxBytes = Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 16);
        private WhenFull whenFull = WhenFull.REFUSE;
        private MetricsExporter metrics = MetricsExporter.NOOP;
        private Duration longestTx = MemoryTable.LONGEST_TX;
        private Supplier<Instant> clock = SystemTime::now;

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

        /** The clock that takes the place of the database's clock. */
        Builder clock(Supplier<Instant> clock) {
            this.clock = clock;
            return this;
        }

        public MemoryEventStore build() {
            return new MemoryEventStore(this);
        }
    }
}
