package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.time.Instant;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Which facts a job is to look at. */
public final class FactSearch {

    private final String job;
    private final Instant from;
    private final Instant until;
    private final @Nullable String checkpoint;
    private final int limit;
    private final Set<String> ids = ConcurrentHashMap.newKeySet(); // that were given out

    FactSearch(String job, Instant from, Instant until, @Nullable String checkpoint, int limit) {
        this.job = job;
        this.from = from;
        this.until = until;
        this.checkpoint = checkpoint;
        this.limit = limit;
    }

    /** Facts from before this time need not be looked at. */
    public Instant from() {
        return from;
    }

    /** Facts from this time on must be left alone: their events may still be on their way. */
    public Instant until() {
        return until;
    }

    /** Where the look before ended, as the job said; null at the beginning of the window. */
    public @Nullable String checkpoint() {
        return checkpoint;
    }

    /** How many events to answer at most. */
    public int limit() {
        return limit;
    }

    /**
     * The id for the event of a fact: the same for the same job and key on every node and in every run, so that the event is written once. Each event of the answer needs one.
     *
     * @param key names the fact, as in {@code enrollment:42}
     */
    public String eventId(String key) {
        if (key.isEmpty()) {
            throw new IllegalArgumentException("The key of a fact must not be empty");
        }
        String id = EventIds.of(job, key);
        ids.add(id);
        return id;
    }

    /** Refuses an answer that could write an event twice, or never end. */
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
