package outbox.spi;

import java.time.Duration;

/**
 * Proves that its holder owns events for the duration of a lease. The token is stored in {@code locked_by}, and
 * every update of a claimed event checks it. A holder that has lost its claim therefore changes nothing.
 *
 * @param token unique for this claim; never used again by another claim
 * @param leaseEndNanos the end of the lease by the monotonic clock of the holder, {@link System#nanoTime()}. It is
 * computed from a time before the database was called, so this node regards the lease as expired before the database
 * does
 */
public record Claim(String token, long leaseEndNanos) {

    /** The size of column {@code locked_by}. */
    public static final int MAX_TOKEN_LENGTH = 128;

    public Claim {
        if (token.isEmpty() || token.length() > MAX_TOKEN_LENGTH) {
            throw new IllegalArgumentException("A claim token has 1 to " + MAX_TOKEN_LENGTH + " characters: " + token);
        }
    }

    /** Creates a claim whose lease starts now. */
    public static Claim startingNow(String token, Duration lease) {
        return new Claim(token, System.nanoTime() + lease.toNanos());
    }
}
