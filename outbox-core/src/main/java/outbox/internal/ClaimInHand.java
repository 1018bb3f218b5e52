package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;

import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The claim of an event that a poller is handing over. A handler of the specification gets the event alone; whatever way it takes to a dispatcher, on the poller's thread or later on
 * another one, the claim goes with it: it waits here for the event's id.
 */
public final class ClaimInHand {

    private static final int MAX_WAITING = 10_000; // of handlers that deliver by themselves, until their leases end
    private static final ThreadLocal<@Nullable ClaimInHand> HANDED_OVER = new ThreadLocal<>(); // on the poller's thread
    private static final ConcurrentHashMap<String, ClaimInHand> WAITING = new ConcurrentHashMap<>(); // for any thread

    private final String eventId;
    private final Claim claim;
    private final boolean suspect;
    private final Duration lease;

    /**
     * Describes what a poller hands over.
     *
     * @param suspect see {@link outbox.spi.ClaimedEvent#suspect()}
     * @param lease how long the poller lets its claims last
     */
    public ClaimInHand(String eventId, Claim claim, boolean suspect, Duration lease) {
        this.eventId = eventId;
        this.claim = claim;
        this.suspect = suspect;
        this.lease = lease;
    }

    /** The hand-over begins: whoever asks for the event from now on gets the claim. */
    public void offer() {
        HANDED_OVER.set(this);
        if (WAITING.size() >= MAX_WAITING) {
            WAITING.values().removeIf(ClaimInHand::hasEnded);
        }
        if (WAITING.size() < MAX_WAITING) {
            WAITING.put(eventId, this);
        }
    }

    /** The hand-over ends. If the handler did not take the event, its claim is the poller's again. */
    public void end(boolean taken) {
        HANDED_OVER.remove();
        if (!taken) {
            WAITING.remove(eventId, this);
        }
    }

    private boolean hasEnded() {
        return claim.remaining().isNegative();
    }

    /** Takes the claim of this event, if a poller has handed it over and nobody took it yet. */
    public static @Nullable ClaimInHand take(String eventId) {
        ClaimInHand handedOver =
                HANDED_OVER.get(); // first: another outbox of this process may have an event with this id
        if (handedOver != null && handedOver.eventId.equals(eventId)) {
            WAITING.remove(eventId, handedOver);
            return handedOver;
        }
        ClaimInHand inHand = WAITING.remove(eventId);
        return inHand == null || inHand.hasEnded() ? null : inHand;
    }

    public Claim claim() {
        return claim;
    }

    public boolean suspect() {
        return suspect;
    }

    public Duration lease() {
        return lease;
    }
}
