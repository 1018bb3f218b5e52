package outbox.jdbc.internal.claim;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The lock times of claims, for tables without a column for claim tokens. Each time is given to only one claim, so
 * the time in a row identifies the claim. A claim that follows an expired one is later by more than the lease, and
 * within a process no two claims get the same time. A renewal adds another time to the same claim.
 *
 * <p>Kept in memory, because only this process can use them. After a restart, the old claims expire. Thread-safe.
 */
public final class LockTimes {

    private final Map<Instant, String> tokens = new HashMap<>(); // token by lock time; guarded by this
    private final Map<String, List<Instant>> times = new HashMap<>(); // lock times by token; guarded by this
    private Instant forgetAt = Instant.MIN; // next time to forget old claims; guarded by this

    /** Returns a unique time for the claim, as close to the given time as possible. */
    public synchronized Instant lock(String token, Instant now) {
        Instant time = now.truncatedTo(ChronoUnit.MICROS);
        while (tokens.putIfAbsent(time, token) != null) {
            time = time.plus(1, ChronoUnit.MICROS);
        }
        times.computeIfAbsent(token, any -> new ArrayList<>()).add(time);
        return time;
    }

    /** Returns all times of the claim. Empty if it never locked a row or was forgotten. */
    public synchronized List<Instant> of(String token) {
        return List.copyOf(times.getOrDefault(token, List.of()));
    }

    /**
     * Forgets claims that neither began nor were renewed since the given time. Does nothing if it ran less than a
     * minute ago.
     */
    public synchronized void forget(Instant now, Instant before) {
        if (now.isBefore(forgetAt)) {
            return;
        }
        forgetAt = now.plusSeconds(60);
        times.values().removeIf(some -> {
            boolean old = some.get(some.size() - 1).isBefore(before);
            if (old) {
                tokens.keySet().removeAll(some);
            }
            return old;
        });
    }
}
