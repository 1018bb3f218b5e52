package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.EventOrder.Position;
import outbox.spi.PriorityShare;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Finds the events that can be claimed, and their position in the order of their aggregate. Each query scans all
 * rows in the order of their numbers. Callers must hold the lock of the table.
 */
final class MemoryClaims {

    /** Highest priority first, then earliest due time. */
    static final Comparator<RowState> URGENT_FIRST = Comparator.<RowState>comparingInt(
                    state -> -state.event().priority())
            .thenComparing(RowState::availableAt)
            .thenComparingLong(state -> Math.abs(state.number()));

    static final Comparator<RowState> OLDEST_FIRST =
            Comparator.comparing(RowState::availableAt).thenComparingLong(state -> Math.abs(state.number()));

    /** An aggregate whose events may be ordered. */
    private record Aggregate(String type, String id) {

        static @Nullable Aggregate of(EventEnvelope event) {
            String id = event.aggregateId();
            return id == null ? null : new Aggregate(event.aggregateType(), id);
        }
    }

    private final MemoryTable table;
    private final PriorityShare priorities = new PriorityShare();

    MemoryClaims(MemoryTable table) {
        this.table = table;
    }

    /**
     * Returns the events that fulfil the condition, are next in their order, are not withheld, and are not locked by
     * another transaction.
     */
    List<Row> next(MemoryTx tx, Ordering ordering, Withheld withheld, Predicate<RowState> condition) {
        List<Row> found = new ArrayList<>();
        Set<Aggregate> waiting = new HashSet<>();
        for (Row row : table.rows()) {
            RowState state = row.seenBy(tx);
            if (state == null) {
                continue;
            }
            boolean isNext = !isOrdered(state, ordering) || !waiting.contains(Aggregate.of(state.event()));
            if (keepsOthersWaiting(state, ordering)) {
                waiting.add(Aggregate.of(state.event()));
            }
            if (isNext && !row.isLockedFor(tx) && condition.test(state) && !isWithheld(state.event(), withheld)) {
                found.add(row);
            }
        }
        return found;
    }

    private static boolean isOrdered(RowState state, Ordering ordering) {
        return state.number() > 0 && ordering.appliesTo(state.event());
    }

    /**
     * Returns whether later events of the aggregate must wait for this event, including those that are
     * not written yet.
     */
    static boolean keepsOthersWaiting(RowState state, Ordering ordering) {
        return isOrdered(state, ordering)
                && (state.isPending() || state.status() == EventStatus.DEAD && ordering.whenDead() == WhenDead.BLOCK);
    }

    private static boolean isWithheld(EventEnvelope event, Withheld withheld) {
        if (withheld.isNothing()) {
            return false;
        }
        String route = event.aggregateType() + ":" + event.eventType();
        Set<String> known = withheld.known();
        return withheld.types().contains(event.eventType())
                || withheld.routes().contains(route)
                || event.tenantId() != null && withheld.tenants().contains(event.tenantId())
                || known != null && !known.contains(route);
    }

    /**
     * Returns the rows that a claim takes: urgent events first. If not all rows fit, a part of the claim ignores the
     * priority and takes the events that are due longest.
     */
    List<Row> chosen(List<Row> due, MemoryTx tx, int limit) {
        if (due.size() <= limit) {
            return first(due, tx, URGENT_FIRST, limit);
        }
        List<Row> urgent = due.stream().filter(row -> priorityOf(row, tx) > 0).toList();
        Set<Row> chosen = new LinkedHashSet<>(first(urgent, tx, URGENT_FIRST, priorities.of(limit)));
        List<Row> rest = due.stream().filter(row -> !chosen.contains(row)).toList();
        chosen.addAll(first(rest, tx, OLDEST_FIRST, limit - chosen.size()));
        return List.copyOf(chosen);
    }

    private static int priorityOf(Row row, MemoryTx tx) {
        RowState state = row.seenBy(tx);
        return state == null ? 0 : state.event().priority();
    }

    /** Returns the first rows in the given order, as the transaction sees them. */
    static List<Row> first(List<Row> rows, MemoryTx tx, Comparator<RowState> order, int limit) {
        record Seen(Row row, RowState state) {}
        List<Seen> seen = new ArrayList<>();
        for (Row row : rows) {
            RowState state = row.seenBy(tx);
            if (state != null) {
                seen.add(new Seen(row, state));
            }
        }
        return seen.stream()
                .sorted((one, other) -> order.compare(one.state(), other.state()))
                .limit(limit)
                .map(Seen::row)
                .toList();
    }

    Map<String, Position> positions(MemoryTx tx, Collection<String> eventIds, Ordering ordering) {
        Set<String> asked = new HashSet<>(eventIds);
        Map<Aggregate, Long> unfinished = new HashMap<>();
        Map<Aggregate, Long> dead = new HashMap<>();
        Map<String, Position> positions = new HashMap<>();
        for (Row row : table.rows()) {
            RowState state = row.seenBy(tx);
            if (state == null) {
                continue;
            }
            Aggregate aggregate = Aggregate.of(state.event());
            if (asked.contains(row.eventId())) {
                boolean alone = aggregate == null || state.number() < 0;
                positions.put(
                        row.eventId(),
                        alone
                                ? new Position(state.number(), 0, 0)
                                : new Position(
                                        state.number(),
                                        unfinished.getOrDefault(aggregate, 0L),
                                        dead.getOrDefault(aggregate, 0L)));
            }
            if (aggregate != null && isOrdered(state, ordering) && state.status() != EventStatus.DONE) {
                (state.isPending() ? unfinished : dead).put(aggregate, state.number());
            }
        }
        return positions;
    }

    List<BlockedAggregate> blocked(MemoryTx tx, int limit) {
        // the first element of each list is the dead event
        Map<Aggregate, List<RowState>> behind = new LinkedHashMap<>();
        for (Row row : table.rows()) {
            RowState state = row.seenBy(tx);
            Aggregate aggregate = state == null ? null : Aggregate.of(state.event());
            if (state == null || aggregate == null || state.number() < 0) {
                continue;
            }
            List<RowState> known = behind.get(aggregate);
            if (known != null) {
                known.add(state);
            } else if (state.status() == EventStatus.DEAD) {
                behind.put(aggregate, new ArrayList<>(List.of(state)));
            }
        }
        return behind.values().stream()
                .sorted(Comparator.<List<RowState>, Instant>comparing(states -> since(states.get(0)))
                        .thenComparing(states -> states.get(0).number()))
                .limit(limit)
                .map(MemoryClaims::blocked)
                .toList();
    }

    private static Instant since(RowState dead) {
        Instant doneAt = dead.doneAt();
        return doneAt == null ? dead.createdAt() : doneAt;
    }

    private static BlockedAggregate blocked(List<RowState> states) {
        RowState dead = states.get(0);
        List<RowState> later = states.subList(1, states.size());
        return new BlockedAggregate(
                dead.event().aggregateType(),
                String.valueOf(dead.event().aggregateId()),
                dead.eventId(),
                dead.event().eventType(),
                dead.doneAt(),
                dead.lastError(),
                later.stream().filter(RowState::isPending).count(),
                later.stream()
                        .filter(state -> state.status() == EventStatus.DEAD)
                        .count(),
                later.stream()
                        .filter(RowState::isPending)
                        .map(RowState::createdAt)
                        .min(Instant::compareTo)
                        .orElse(null));
    }
}
