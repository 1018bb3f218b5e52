package outbox.spi;

import java.time.Duration;

/**
 * Proof that events are ours for a while. The token stands in {@code locked_by}; every write to a claimed event names it, so a claim that was lost changes nothing.
 *
 * @param token unique for this claim, never used again by another
 * @param leaseEndNanos when the lease ends on the scale of {@link System#nanoTime()}; counted from before the database was asked, so this side gives up first
 */
public record Claim(String token, long leaseEndNanos) {

    /** Size of the column {@code locked_by}. */
    public static final int MAX_TOKEN_LENGTH = 128;

    public Claim {
        if (token.isEmpty() || token.length() > MAX_TOKEN_LENGTH) {
            throw new IllegalArgumentException("A claim token has 1 to " + MAX_TOKEN_LENGTH + " characters: " + token);
        }
    }

    /** A claim whose lease starts now. */
    public static Claim startingNow(String token, Duration lease) {
        return new Claim(token, System.nanoTime() + lease.toNanos());
    }

    /** How long the lease still lasts; zero or negative once it has ended. */
    public Duration remaining() {
        return Duration.ofNanos(leaseEndNanos - System.nanoTime());
    }
}
