package outbox.memory;

import org.jspecify.annotations.Nullable;
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
import outbox.internal.SystemTime;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.ClaimRequest.Withheld;

import java.sql.Connection;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The administration of events in memory, and the log of the last {@value #MAX_AUDITS} requests. Thread-safe.
 */
final class MemoryAdmin implements EventAdministration {

    static final int MAX_AUDITS = 1000;

    private static final Comparator<RowState> BY_AGE =
            Comparator.comparing(RowState::createdAt).thenComparing(RowState::eventId);

    private record TypeAndStatus(String eventType, EventStatus status) {}

    private final MemoryTable table;
    private final MemoryWork work;
    private final MemoryClaims claims;
    // oldest first; guarded by the lock of the table
    private final LinkedHashMap<String, AuditEntry> audits = new LinkedHashMap<>();

    MemoryAdmin(MemoryTable table, MemoryWork work, MemoryClaims claims) {
        this.table = table;
        this.work = work;
        this.claims = claims;
    }

    private Stream<RowState> states(MemoryTx tx) {
        return table.rows().stream().map(row -> row.seenBy(tx)).flatMap(Stream::ofNullable);
    }

    private Stream<RowState> pending(MemoryTx tx) {
        return states(tx).filter(RowState::isPending);
    }

    @Override
    public List<TypeCount> countByType(Connection conn) {
        Map<TypeAndStatus, Long> counts = work.in(
                conn,
                tx -> states(tx)
                        .collect(Collectors.groupingBy(
                                state -> new TypeAndStatus(state.event().eventType(), state.status()),
                                Collectors.counting())));
        return counts.entrySet().stream()
                .map(entry -> new TypeCount(
                        entry.getKey().eventType(), entry.getKey().status().code(), entry.getValue()))
                .toList();
    }

    @Override
    public Optional<Instant> oldestPending(Connection conn) {
        return work.in(conn, this::oldestPending);
    }

    private Optional<Instant> oldestPending(MemoryTx tx) {
        return pending(tx).map(RowState::createdAt).min(Instant::compareTo);
    }

    @Override
    public Backlog backlog(Connection conn) {
        return work.in(conn, tx -> {
            Optional<Instant> due = pending(tx).map(RowState::availableAt).min(Instant::compareTo);
            return Backlog.of(
                    SystemTime.now(),
                    pending(tx).count(),
                    pending(tx).filter(state -> state.lockedBy() != null).count(),
                    oldestPending(tx).orElse(null),
                    due.orElse(null));
        });
    }

    @Override
    public Optional<EventDetails> find(Connection conn, String eventId) {
        return work.in(conn, tx -> {
            Row row = table.row(eventId);
            return Optional.ofNullable(row == null ? null : row.seenBy(tx))
                    .map(state -> new EventDetails(state.summary(), state.row(), state.lastError(), List.of()));
        });
    }

    @Override
    public List<EventSummary> find(Connection conn, EventQuery query) {
        return work.in(conn, tx -> find(tx, query));
    }

    private List<EventSummary> find(MemoryTx tx, EventQuery query) {
        boolean oldestFirst = query.order() == EventQuery.Order.OLDEST_FIRST;
        Comparator<RowState> order = oldestFirst ? BY_AGE : BY_AGE.reversed();
        EventQuery.Cursor after = query.after();
        return states(tx)
                .filter(state -> passes(state, query.filter()))
                .filter(state -> after == null || isBehind(state, after, oldestFirst))
                .sorted(order)
                .limit(query.pageSize())
                .map(RowState::summary)
                .toList();
    }

    private static boolean isBehind(RowState state, EventQuery.Cursor cursor, boolean oldestFirst) {
        int byTime = state.createdAt().compareTo(cursor.createdAt());
        int place = byTime != 0 ? byTime : state.eventId().compareTo(cursor.eventId());
        return oldestFirst ? place > 0 : place < 0;
    }

    @Override
    public long count(Connection conn, EventFilter filter) {
        return work.in(
                conn, tx -> states(tx).filter(state -> passes(state, filter)).count());
    }

    /** Returns the ids in the order of the event numbers, which is the order of the rows. */
    @Override
    public List<String> findIds(Connection conn, EventFilter filter, int limit) {
        return work.in(
                conn,
                tx -> states(tx)
                        .filter(state -> passes(state, filter))
                        .limit(limit)
                        .map(RowState::eventId)
                        .toList());
    }

    private static boolean passes(RowState state, EventFilter filter) {
        return (filter.statuses().isEmpty() || filter.statuses().contains(state.status()))
                && (filter.eventIds().isEmpty() || filter.eventIds().contains(state.eventId()))
                && matches(filter.eventType(), state.event().eventType())
                && matches(filter.aggregateType(), state.event().aggregateType())
                && matches(filter.aggregateId(), state.event().aggregateId())
                && matches(filter.dedupKey(), state.event().dedupKey())
                && contains(state.lastError(), filter.errorContains())
                && !isBefore(state.createdAt(), filter.createdFrom())
                && (filter.createdBefore() == null || isBefore(state.createdAt(), filter.createdBefore()))
                && matches(filter.tenantId(), state.event().tenantId())
                && (filter.dueBefore() == null || isBefore(state.availableAt(), filter.dueBefore()))
                && isClaimed(state, filter)
                && (filter.endedBefore() == null
                        || state.doneAt() == null
                        || isBefore(state.doneAt(), filter.endedBefore()))
                && (!filter.isInOrder() || state.number() > 0 && state.event().aggregateId() != null);
    }

    /** Returns whether the claim of the event matches the filter. */
    private static boolean isClaimed(RowState state, EventFilter filter) {
        String node = filter.claimedBy();
        Instant before = filter.claimedBefore();
        String token = state.lockedBy();
        Instant since = state.lockedAt();
        return (node == null || token != null && (token.equals(node) || token.startsWith(node + "/")))
                && (before == null || since != null && since.isBefore(before));
    }

    @Override
    public List<ClaimHolder> claimHolders(Connection conn) {
        return work.in(conn, this::claimHolders);
    }

    private List<ClaimHolder> claimHolders(MemoryTx tx) {
        List<ClaimHolder> holders = new ArrayList<>();
        pending(tx).forEach(state -> {
            String token = state.lockedBy();
            Instant since = state.lockedAt();
            if (token != null && since != null) {
                holders.add(new ClaimHolder(token, 1, since, since));
            }
        });
        return holders;
    }

    private static boolean matches(@Nullable String wanted, @Nullable String value) {
        return wanted == null || wanted.equals(value);
    }

    private static boolean contains(@Nullable String text, @Nullable String part) {
        return part == null || text != null && text.contains(part);
    }

    private static boolean isBefore(Instant time, @Nullable Instant limit) {
        return limit != null && time.isBefore(limit);
    }

    // ---- changes ----

    @Override
    public int replay(Connection conn, List<String> eventIds, Replay how) {
        return work.in(conn, tx -> {
            int replayed = 0;
            for (int i = 0; i < eventIds.size(); i++) {
                Instant due = how.dueAt(i);
                String eventId = eventIds.get(i);
                if (isKeyFree(tx, eventId)
                        && work.change(
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
            Row holder = key == null ? null : table.holderOf(tx, key, SystemTime.now());
            free = holder == null || holder == row;
        } while (waits != table.waits());
        return free;
    }

    @Override
    public int discard(Connection conn, Collection<String> eventIds) {
        return work.changeAll(conn, eventIds, state -> state.status() == EventStatus.DEAD, state -> null)
                .size();
    }

    @Override
    public int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit) {
        if (!terminal.isTerminal()) {
            throw new IllegalArgumentException("Only DONE and DEAD events can be purged, not " + terminal);
        }
        Instant now = SystemTime.now();
        return work.in(conn, tx -> {
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
    public int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter claimed) {
        return work.changeAll(
                        conn,
                        eventIds,
                        state -> state.isPending() && isClaimed(state, claimed),
                        state -> state.lockedBy(state.lockedBy(), Instant.EPOCH))
                .size();
    }

    @Override
    public int makeDue(Connection conn, Collection<String> eventIds, Instant now) {
        return work.changeAll(
                        conn,
                        eventIds,
                        state -> state.isPending()
                                && state.lockedBy() == null
                                && state.availableAt().isAfter(now),
                        state -> state.dueAt(now))
                .size();
    }

    // ---- requests ----

    @Override
    public Optional<AuditEntry> audit(Connection conn, String requestId) {
        return work.in(conn, tx -> Optional.ofNullable(audits.get(requestId)));
    }

    @Override
    public List<AuditEntry> audits(Connection conn, int limit) {
        return work.in(
                conn,
                tx -> audits.values().stream()
                        .sorted(Comparator.comparing(AuditEntry::startedAt)
                                .thenComparing(AuditEntry::requestId)
                                .reversed())
                        .limit(limit)
                        .toList());
    }

    @Override
    public boolean beginAudit(Connection conn, AuditEntry entry) {
        return work.in(conn, tx -> beginAudit(tx, entry));
    }

    private boolean beginAudit(MemoryTx tx, AuditEntry entry) {
        if (audits.putIfAbsent(entry.requestId(), entry) != null) {
            return false;
        }
        tx.add(() -> audits.remove(entry.requestId()));
        if (audits.size() > MAX_AUDITS) {
            audits.remove(new ArrayList<>(audits.keySet()).get(0));
        }
        return true;
    }

    @Override
    public void progressAudit(Connection conn, String requestId, int affected, @Nullable Instant finishedAt) {
        work.in(conn, tx -> {
            progressAudit(tx, requestId, affected, finishedAt);
            return requestId;
        });
    }

    private void progressAudit(MemoryTx tx, String requestId, int affected, @Nullable Instant finishedAt) {
        AuditEntry before = audits.get(requestId);
        if (before == null) {
            return; // the entry was removed because newer ones needed its place
        }
        AuditEntry progressed = new AuditEntry(
                requestId,
                before.action(),
                before.actor(),
                before.reason(),
                before.selection(),
                before.matched(),
                before.affected() + affected,
                before.startedAt(),
                finishedAt);
        audits.put(requestId, progressed);
        tx.add(() -> audits.put(requestId, Objects.requireNonNull(before)));
    }
}
