package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;

import java.time.Duration;

/**
 * The claim of the event that a poller is handing over on this thread. A handler of the specification gets the event alone; whatever way it takes to a dispatcher, the claim goes
 * with it.
 *
 * @param suspect see {@link outbox.spi.ClaimedEvent#suspect()}
 * @param lease how long the poller lets its claims last
 */
public record ClaimInHand(String eventId, Claim claim, boolean suspect, Duration lease) {

    private static final ThreadLocal<@Nullable ClaimInHand> CURRENT = new ThreadLocal<>();

    /** Sets what this thread hands over, or nothing. */
    public static void set(@Nullable ClaimInHand inHand) {
        if (inHand == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(inHand);
        }
    }

    /** The claim of this event, if this thread is handing it over. */
    public static @Nullable ClaimInHand of(String eventId) {
        ClaimInHand inHand = CURRENT.get();
        return inHand != null && inHand.eventId.equals(eventId) ? inHand : null;
    }
}
