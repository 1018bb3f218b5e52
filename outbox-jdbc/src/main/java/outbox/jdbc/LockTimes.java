package outbox.jdbc;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The times with which claims have locked rows, where a table has no place for their tokens. A time is given to one claim only, so whoever finds it in a row knows whose claim that is:
 * a claim that follows an expired one is later by more than the lease, and within a process no two claims get the same. A renewal is one more time of the same claim.
 *
 * <p>Kept in memory, because nobody but this process can use them: after a restart the claims of before run out. Thread-safe.
 */
final class LockTimes {

    private final Map<Instant, String> tokens = new HashMap<>(); // guarded by this, as the next two
    private final Map<String, List<Instant>> times = new HashMap<>();
    private Instant forgetAt = Instant.MIN;

    /** A time of its own for the claim, as close to the given one as can be. */
    synchronized Instant lock(String token, Instant now) {
        Instant time = now.truncatedTo(ChronoUnit.MICROS);
        while (tokens.putIfAbsent(time, token) != null) {
            time = time.plus(1, ChronoUnit.MICROS);
        }
        times.computeIfAbsent(token, any -> new ArrayList<>()).add(time);
        return time;
    }

    /** All times of the claim; empty if it never locked anything, or too long ago. */
    synchronized List<Instant> of(String token) {
        return List.copyOf(times.getOrDefault(token, List.of()));
    }

    /** Forgets claims that neither began nor were renewed since the given time. Looks at them only now and then. */
    synchronized void forget(Instant now, Instant before) {
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
