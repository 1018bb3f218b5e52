package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.time.Instant;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The facts that a job should examine in one call. */
public final class FactSearch {

    private final String job;
    private final Instant from;
    private final Instant until;
    private final @Nullable String checkpoint;
    private final int limit;
    // ids that eventId returned; the finder's threads write, the run's thread reads
    private final Set<String> ids = ConcurrentHashMap.newKeySet();

    FactSearch(String job, Instant from, Instant until, @Nullable String checkpoint, int limit) {
        this.job = job;
        this.from = from;
        this.until = until;
        this.checkpoint = checkpoint;
        this.limit = limit;
    }

    /** Facts before this time need not be examined. */
    public Instant from() {
        return from;
    }

    /** Facts from this time on must be ignored, because their events may not be delivered yet. */
    public Instant until() {
        return until;
    }

    /** Returns the checkpoint that the finder returned last, or null at the beginning of the window. */
    public @Nullable String checkpoint() {
        return checkpoint;
    }

    /** Maximum number of events to return. */
    public int limit() {
        return limit;
    }

    /**
     * Returns the id for the event of a fact. It is the same for the same job and key on every node and in every
     * run, so that the event is written only once. Every returned event must have such an id.
     *
     * @param key identifies the fact, for example {@code enrollment:42}
     */
    public String eventId(String key) {
        if (key.isEmpty()) {
            throw new IllegalArgumentException("The key of a fact must not be empty");
        }
        String id = EventIds.of(job, key);
        ids.add(id);
        return id;
    }

    /** Rejects a result that could write an event twice, or that would make the run endless. */
    Found check(Found found) {
        if (found.events().size() > limit) {
            throw new IllegalStateException("Job " + job + " answered "
                    + found.events().size() + " events, but was asked for " + limit + " at most");
        }
        if (found.hasMore() && found.checkpoint() != null && found.checkpoint().equals(checkpoint)) {
            throw new IllegalStateException("Job " + job + " says that there is more behind checkpoint '" + checkpoint
                    + "', which is where it began; it would never end");
        }
        for (EventEnvelope event : found.events()) {
            if (!ids.contains(event.eventId())) {
                throw new IllegalStateException("Job " + job + " gave event " + event.eventId() + " (type "
                        + event.eventType() + ") an id of its own, so each run would write it again."
                        + " Build it with eventId(search.eventId(<key of the fact>)).");
            }
        }
        return found;
    }
}
