package outbox.http;

import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Verifies for a receiver that the sender of a request has the secret and signed it recently. Immutable and
 * thread-safe; independent of the transport.
 *
 * <p>The signature covers the id, the time and the body, not the other headers. A genuine request can be a
 * repetition: store the ids of handled requests.
 */
public final class WebhookVerifier {

    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,12}");
    private static final int LONGEST_HEADER = 4096; // limits the work for an unauthenticated request

    private final List<WebhookSecret> secrets;
    private final Duration tolerance;
    private final Clock clock;

    private WebhookVerifier(List<WebhookSecret> secrets, Duration tolerance, Clock clock) {
        this.secrets = secrets;
        this.tolerance = tolerance;
        this.clock = clock;
    }

    /** Accepts requests that are signed with any of these secrets, up to 5 minutes before or after the system time. */
    public static WebhookVerifier of(WebhookSecret... secrets) {
        if (secrets.length == 0) {
            throw new IllegalArgumentException("A verifier needs a secret");
        }
        return new WebhookVerifier(List.of(secrets), Duration.ofMinutes(5), Clock.systemUTC());
    }

    /** Returns a verifier with another maximum difference between the signature time and now. */
    public WebhookVerifier within(Duration tolerance) {
        return new WebhookVerifier(secrets, Durations.positive("tolerance", tolerance, Duration.ofDays(1)), clock);
    }

    public WebhookVerifier withClock(Clock clock) {
        return new WebhookVerifier(secrets, tolerance, clock);
    }

    /**
     * Returns whether one of the signatures is valid. Pass null for a missing header.
     *
     * @param id the header {@code webhook-id}, unchanged
     * @param timestamp the header {@code webhook-timestamp}
     * @param signature the header {@code webhook-signature}
     * @param body the received bytes, before any parsing
     */
    public boolean isGenuine(@Nullable String id, @Nullable String timestamp, @Nullable String signature, byte[] body) {
        if (id == null || timestamp == null || signature == null) {
            return false;
        }
        if (id.length() > LONGEST_HEADER
                || signature.length() > LONGEST_HEADER
                || !SECONDS.matcher(timestamp).matches()) {
            return false;
        }
        long seconds = Long.parseLong(timestamp);
        if (Math.abs(clock.instant().getEpochSecond() - seconds) > tolerance.toSeconds()) {
            return false;
        }
        boolean fits = false;
        for (WebhookSecret secret : secrets) {
            byte[] expected = bytes(secret.sign(id, seconds, body));
            for (String one : signature.split(" ", -1)) {
                fits |= MessageDigest.isEqual(expected, bytes(one)); // in constant time
            }
        }
        return fits;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
