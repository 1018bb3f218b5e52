package outbox.testing;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;
import outbox.model.EventStatus;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Records the deliveries of a test outbox: its store reports claims and outcomes, and as an interceptor it sees the
 * attempts. Thread-safe.
 */
final class DeliveryWatch implements EventInterceptor {

    /** An event that was deleted after its delivery, so its row no longer exists. */
    record Removed(EventEnvelope envelope, int attempts) {}

    private final Semaphore ends = new Semaphore(0);
    private final Map<String, Removed> running = new HashMap<>(); // guarded by this
    private final Map<String, Removed> removed = new LinkedHashMap<>(); // guarded by this
    private final Set<String> attempted = new HashSet<>(); // in this call; guarded by this
    private final Map<String, EventStatus> outcomes = new LinkedHashMap<>(); // in this call; guarded by this
    private final Set<String> claimed = new HashSet<>(); // in this round; guarded by this
    private int progress; // in this round; guarded by this

    synchronized void beginCall() {
        running.clear();
        attempted.clear();
        outcomes.clear();
        beginRound();
    }

    synchronized void beginRound() {
        claimed.clear();
        progress = 0;
    }

    synchronized void forget() {
        beginCall();
        removed.clear();
    }

    @Override
    public synchronized void beforeDispatch(EventEnvelope event, int attempt) {
        attempted.add(event.eventId());
        running.put(event.eventId(), new Removed(event, attempt - 1));
        progress++;
    }

    synchronized boolean isAttempted(String eventId) {
        return attempted.contains(eventId);
    }

    synchronized void claimed(Collection<String> eventIds) {
        claimed.addAll(eventIds);
    }

    synchronized void ended(String eventId, EventStatus outcome) {
        outcomes.put(eventId, outcome);
        progress++;
        ends.release();
    }

    synchronized void removed(String eventId) {
        Removed event = running.get(eventId);
        if (event != null) {
            removed.put(eventId, event);
        }
        ended(eventId, EventStatus.DONE);
    }

    synchronized List<String> claimed() {
        return List.copyOf(claimed);
    }

    synchronized boolean hasProgress() {
        return progress > 0;
    }

    /** Returns the events that had an outcome in this call, in the order of their outcomes. */
    synchronized List<String> endedEvents() {
        return List.copyOf(outcomes.keySet());
    }

    /** Returns the events whose rows were deleted after delivery. */
    synchronized List<Removed> removedEvents() {
        return new ArrayList<>(removed.values());
    }

    synchronized @Nullable Removed removedEvent(String eventId) {
        return removed.get(eventId);
    }

    /** Waits until an event has an outcome, at most for the given time. The outcome may not be committed yet. */
    void awaitEnd(long millis) throws InterruptedException {
        if (ends.tryAcquire(millis, TimeUnit.MILLISECONDS)) {
            ends.drainPermits();
        }
    }
}
