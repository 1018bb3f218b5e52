package outbox.http;

import org.jspecify.annotations.Nullable;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * What the endpoint refused lately, by which a fault of the endpoint or of its credentials is told from a fault of
 * one event: see ADR 57. Thread-safe.
 *
 * <p>An outage begins with an answer that says "not you" or "not here", and ends with the next delivery. An event
 * that is refused in the same way before and after a delivery of
 * another one is to blame itself.
 */
final class RefusalRecord {

    /** So many different events given up in a row, with no delivery between them, are an outage. */
    static final int MOST_GIVE_UPS = 20;

    /** The longest wait of an event during an outage. */
    static final Duration LONGEST_WAIT = Duration.ofMinutes(1);

    private static final Duration SHORTEST_WAIT = Duration.ofSeconds(1);
    private static final int MOST_REMEMBERED = 10_000; // events; the oldest is forgotten first

    /** How an event waits, uncounted, and whether its refusal began the outage. */
    record Wait(Duration delay, boolean isFirst) {}

    private final Clock clock;
    private final Map<String, Long> refused = new LinkedHashMap<>(); // id to step; guarded by this, as all below
    private final Set<String> givenUp = new LinkedHashSet<>(); // since the last delivery, at most MOST_GIVE_UPS
    private long step; // counts requests and refusals, and so orders them
    private long latestDelivery; // the step in which the latest request that was delivered began
    private long outageStep;
    private @Nullable Instant since; // when the outage began; null if there is none

    RefusalRecord(Clock clock) {
        this.clock = clock;
    }

    /**
     * The begin of a request, for {@link #delivered}: what was sent before a refusal says nothing about the time
     * after it.
     */
    synchronized long begin() {
        return ++step;
    }

    /** Notes a delivery, and returns whether it ended an outage. */
    synchronized boolean delivered(String eventId, long begin) {
        latestDelivery = Math.max(latestDelivery, begin);
        refused.remove(eventId);
        givenUp.clear();
        if (since == null || begin < outageStep) {
            return false;
        }
        since = null;
        return true;
    }

    /**
     * Notes that the endpoint takes no event; null if it took another one since it refused this event before, so that
     * the event is to blame.
     */
    synchronized @Nullable Wait refused(String eventId) {
        Long before = refused.get(eventId);
        if (before != null && before < latestDelivery) {
            return null;
        }
        refused.put(eventId, ++step);
        if (refused.size() > MOST_REMEMBERED) {
            refused.remove(refused.keySet().iterator().next());
        }
        return unsent();
    }

    /** Notes that nothing can be sent at all. */
    synchronized Wait unsent() {
        Instant now = clock.instant();
        boolean isFirst = since == null;
        if (since == null) {
            since = now;
            outageStep = ++step;
        }
        return new Wait(bounded(Duration.between(since, now)), isFirst);
    }

    /** Notes that the endpoint refused this event as wrong, and returns how many were in a row, this one included. */
    synchronized int givenUp(String eventId) {
        if (givenUp.size() < MOST_GIVE_UPS) {
            givenUp.add(eventId);
        }
        return givenUp.size();
    }

    /** As long as the outage lasts already, so that waits grow with it. */
    private static Duration bounded(Duration outage) {
        if (outage.compareTo(SHORTEST_WAIT) < 0) {
            return SHORTEST_WAIT;
        }
        return outage.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : outage;
    }
}
