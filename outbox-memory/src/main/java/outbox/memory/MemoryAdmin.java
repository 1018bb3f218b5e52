package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.admin.AuditEntry;
import outbox.admin.Backlog;
import outbox.admin.ClaimHolder;
import outbox.admin.EventCursor;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.Pause;
import outbox.admin.PauseScope;
import outbox.admin.TypeCount;
import outbox.model.EventStatus;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Operations for administrators, and the log of the last {@value #MAX_AUDITS} requests. Callers must hold the lock
 * of the table; it guards all fields.
 */
final class MemoryAdmin {

    static final int MAX_AUDITS = 1000;

    private static final int MAX_PAUSES = 10_000;

    private static final Comparator<RowState> BY_AGE =
            Comparator.comparing(RowState::createdAt).thenComparing(RowState::eventId);

    private record What(PauseScope scope, String name) {}

    private record TypeAndStatus(String eventType, EventStatus status) {}

    private final MemoryTable table;
    private final Map<What, Pause> pauses = new LinkedHashMap<>();
    private final LinkedHashMap<String, AuditEntry> audits = new LinkedHashMap<>();

    MemoryAdmin(MemoryTable table) {
        this.table = table;
    }

    private Stream<RowState> states(MemoryTx tx) {
        return table.rows().stream().map(row -> row.seenBy(tx)).flatMap(Stream::ofNullable);
    }

    private Stream<RowState> pending(MemoryTx tx) {
        return states(tx).filter(RowState::isPending);
    }

    List<TypeCount> countByType(MemoryTx tx) {
        Map<TypeAndStatus, Long> counts = states(tx)
                .collect(Collectors.groupingBy(
                        state -> new TypeAndStatus(state.event().eventType(), state.status()), Collectors.counting()));
        return counts.entrySet().stream()
                .map(entry -> new TypeCount(
                        entry.getKey().eventType(), entry.getKey().status().code(), entry.getValue()))
                .toList();
    }

    @Nullable
    Instant oldestPending(MemoryTx tx) {
        return pending(tx).map(RowState::createdAt).min(Instant::compareTo).orElse(null);
    }

    Backlog backlog(MemoryTx tx, Instant now) {
        Instant due =
                pending(tx).map(RowState::availableAt).min(Instant::compareTo).orElse(null);
        return Backlog.of(
                now,
                pending(tx).count(),
                pending(tx).filter(state -> state.lockedBy() != null).count(),
                oldestPending(tx),
                due);
    }

    List<EventSummary> find(MemoryTx tx, EventQuery query) {
        boolean oldestFirst = query.order() == EventQuery.Order.OLDEST_FIRST;
        Comparator<RowState> order = oldestFirst ? BY_AGE : BY_AGE.reversed();
        EventCursor after = query.after();
        return states(tx)
                .filter(state -> passes(state, query.filter()))
                .filter(state -> after == null || isBehind(state, after, oldestFirst))
                .sorted(order)
                .limit(query.pageSize())
                .map(RowState::summary)
                .toList();
    }

    private static boolean isBehind(RowState state, EventCursor cursor, boolean oldestFirst) {
        int byTime = state.createdAt().compareTo(cursor.createdAt());
        int place = byTime != 0 ? byTime : state.eventId().compareTo(cursor.eventId());
        return oldestFirst ? place > 0 : place < 0;
    }

    long count(MemoryTx tx, EventFilter filter) {
        return states(tx).filter(state -> passes(state, filter)).count();
    }

    /** Returns the ids in the order of the event numbers, which is the order of the rows. */
    List<String> findIds(MemoryTx tx, EventFilter filter, int limit) {
        return states(tx)
                .filter(state -> passes(state, filter))
                .limit(limit)
                .map(RowState::eventId)
                .toList();
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
    static boolean isClaimed(RowState state, EventFilter filter) {
        String node = filter.claimedBy();
        Instant before = filter.claimedBefore();
        String token = state.lockedBy();
        Instant since = state.lockedAt();
        return (node == null || token != null && (token.equals(node) || token.startsWith(node + "/")))
                && (before == null || since != null && since.isBefore(before));
    }

    List<ClaimHolder> claimHolders(MemoryTx tx) {
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

    // ---- pauses ----

    List<Pause> pauses() {
        return List.copyOf(pauses.values());
    }

    boolean pause(MemoryTx tx, Pause pause) {
        What what = new What(pause.scope(), pause.name());
        if (pauses.size() >= MAX_PAUSES || pauses.putIfAbsent(what, pause) != null) {
            return false;
        }
        tx.add(() -> pauses.remove(what));
        return true;
    }

    boolean resume(MemoryTx tx, PauseScope scope, String name) {
        What what = new What(scope, name);
        Pause ended = pauses.remove(what);
        if (ended == null) {
            return false;
        }
        tx.add(() -> pauses.put(what, ended));
        return true;
    }

    // ---- requests ----

    @Nullable
    AuditEntry audit(String requestId) {
        return audits.get(requestId);
    }

    /** Returns the newest entries first. */
    List<AuditEntry> audits(int limit) {
        return audits.values().stream()
                .sorted(Comparator.comparing(AuditEntry::startedAt)
                        .thenComparing(AuditEntry::requestId)
                        .reversed())
                .limit(limit)
                .toList();
    }

    boolean beginAudit(MemoryTx tx, AuditEntry entry) {
        if (audits.putIfAbsent(entry.requestId(), entry) != null) {
            return false;
        }
        tx.add(() -> audits.remove(entry.requestId()));
        if (audits.size() > MAX_AUDITS) {
            audits.remove(new ArrayList<>(audits.keySet()).get(0));
        }
        return true;
    }

    void progressAudit(MemoryTx tx, String requestId, int affected, @Nullable Instant finishedAt) {
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
