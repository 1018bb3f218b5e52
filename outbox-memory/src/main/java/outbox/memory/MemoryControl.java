package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.internal.SystemTime;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.EventControl;

import java.sql.Connection;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/** Due times, keys and changes of pending events in memory. Thread-safe. */
final class MemoryControl implements EventControl {

    private final MemoryTable table;
    private final MemoryWork work;
    private final MemoryClaims claims;
    private final MemoryInserts inserts;

    MemoryControl(MemoryTable table, MemoryWork work, MemoryClaims claims, MemoryInserts inserts) {
        this.table = table;
        this.work = work;
        this.claims = claims;
        this.inserts = inserts;
    }

    @Override
    public Map<String, String> insertUnlessTaken(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) {
        return inserts.insert(conn, events, birth, false);
    }

    @Override
    public Optional<Pending> find(Connection conn, EventRef event, boolean latest) {
        return work.in(conn, tx -> {
            RowState state = find(tx, event, latest);
            return Optional.ofNullable(state).map(MemoryControl::pending);
        });
    }

    private static Pending pending(RowState state) {
        return new Pending(
                state.eventId(), state.status(), state.lockedBy(), state.event().dedupKey());
    }

    @Override
    public Optional<Pending> findLast(Connection conn, String dedupKey) {
        return work.in(
                conn, tx -> Optional.ofNullable(table.lastWith(tx, dedupKey)).map(MemoryControl::pending));
    }

    @Override
    public Optional<String> purgeKeys(Connection conn, Instant doneBefore, String after, int limit) {
        return Optional.empty(); // a key is removed together with its event
    }

    private @Nullable RowState find(MemoryTx tx, EventRef event, boolean latest) {
        String key = event.dedupKey();
        Instant now = SystemTime.now();
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
        return !work.changeAll(conn, List.of(found.eventId()), state -> isAsFound(state, found), state -> null)
                .isEmpty();
    }

    @Override
    public boolean reschedule(Connection conn, Pending found, Instant availableAt) {
        return !work.changeAll(
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
        return work.in(
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
        return work.in(conn, tx -> {
            List<String> expired = new ArrayList<>();
            for (EventStatus status : List.of(EventStatus.NEW, EventStatus.RETRY)) {
                expired.addAll(work.end(
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
}
