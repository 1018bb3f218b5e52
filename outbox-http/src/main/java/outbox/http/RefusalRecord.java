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
 * Records recent refusals of the endpoint, to decide whether the endpoint, its credentials, or one event is the
 * cause: see ADR 57. Thread-safe.
 *
 * <p>An outage begins with a response that means "wrong credentials" or "wrong address", and ends with the next
 * delivery. If an event is refused in the same way before and after the delivery of another event, the event itself
 * is the cause.
 */
final class RefusalRecord {

    /** This many different refused events in a row, without a delivery between them, count as an outage. */
    static final int MOST_GIVE_UPS = 20;

    /** The longest wait of an event during an outage. */
    static final Duration LONGEST_WAIT = Duration.ofMinutes(1);

    private static final Duration SHORTEST_WAIT = Duration.ofSeconds(1);
    private static final int MOST_REMEMBERED = 10_000; // events; the oldest is forgotten first

    /** The delay of an event, without a counted attempt, and whether its refusal started the outage. */
    record Wait(Duration delay, boolean isFirst) {}

    /**
     * The start of a request.
     *
     * @param step the position of the start in the order of requests and refusals
     * @param deliveredBefore the start step of the latest request that was already delivered; 0 if there was none
     */
    record Begin(long step, long deliveredBefore) {}

    private final Clock clock;
    // event id to step; guarded by this, like all fields below
    private final Map<String, Long> refused = new LinkedHashMap<>();
    // refused since the last delivery, at most MOST_GIVE_UPS
    private final Set<String> givenUp = new LinkedHashSet<>();
    private long step; // counts requests and refusals, which orders them
    private long latestDelivery; // the start step of the latest delivered request
    private long outageStep;
    private @Nullable Instant since; // the start of the outage; null if there is none

    RefusalRecord(Clock clock) {
        this.clock = clock;
    }

    /**
     * Records the start of a request. Responses arrive in any order, so only requests that did not overlap prove
     * something about each other.
     */
    synchronized Begin begin() {
        return new Begin(++step, latestDelivery);
    }

    /** Records a delivery. Returns whether it ended an outage. */
    synchronized boolean delivered(String eventId, Begin begin) {
        latestDelivery = Math.max(latestDelivery, begin.step());
        refused.remove(eventId);
        givenUp.clear();
        if (since == null || begin.step() < outageStep) {
            return false;
        }
        since = null;
        return true;
    }

    /**
     * Records that the endpoint accepts no event. Returns null if the event itself is the cause: it was refused
     * before, and another event was sent and delivered between the two requests.
     */
    synchronized @Nullable Wait refused(String eventId, Begin begin) {
        Long before = refused.get(eventId);
        if (before != null && before < begin.deliveredBefore()) {
            return null;
        }
        refused.put(eventId, ++step);
        if (refused.size() > MOST_REMEMBERED) {
            refused.remove(refused.keySet().iterator().next());
        }
        return unsent();
    }

    /** Records that no request can be sent. */
    synchronized Wait unsent() {
        Instant now = clock.instant();
        boolean isFirst = since == null;
        if (since == null) {
            since = now;
            outageStep = ++step;
        }
        return new Wait(bounded(Duration.between(since, now)), isFirst);
    }

    /**
     * Records that the endpoint refused this event as invalid. Returns the number of such events in a row, with this
     * one.
     */
    synchronized int givenUp(String eventId) {
        if (givenUp.size() < MOST_GIVE_UPS) {
            givenUp.add(eventId);
        }
        return givenUp.size();
    }

    /** Returns the wait: the duration of the outage so far, within the limits. */
    private static Duration bounded(Duration outage) {
        if (outage.compareTo(SHORTEST_WAIT) < 0) {
            return SHORTEST_WAIT;
        }
        return outage.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : outage;
    }
}
