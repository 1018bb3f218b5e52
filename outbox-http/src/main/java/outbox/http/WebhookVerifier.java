package outbox.http;

import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Tells a receiver whether a request comes from someone who has the secret, and was signed just now. Immutable and thread-safe; needs nothing of the transport.
 *
 * <p>Only the id, the time and the body are signed, not the other headers. A genuine request can be a repetition: remember the ids of what was handled.
 */
public final class WebhookVerifier {

    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,12}");
    private static final int LONGEST_HEADER = 4096; // of a stranger

    private final List<WebhookSecret> secrets;
    private final Duration tolerance;
    private final Clock clock;

    private WebhookVerifier(List<WebhookSecret> secrets, Duration tolerance, Clock clock) {
        this.secrets = secrets;
        this.tolerance = tolerance;
        this.clock = clock;
    }

    /** Accepts what is signed with any of these, up to 5 minutes old or early by this machine's clock. */
    public static WebhookVerifier of(WebhookSecret... secrets) {
        if (secrets.length == 0) {
            throw new IllegalArgumentException("A verifier needs a secret");
        }
        return new WebhookVerifier(List.of(secrets), Duration.ofMinutes(5), Clock.systemUTC());
    }

    /** With another limit of how far the time of a signature may be from now. */
    public WebhookVerifier within(Duration tolerance) {
        return new WebhookVerifier(secrets, Durations.positive("tolerance", tolerance, Duration.ofDays(1)), clock);
    }

    public WebhookVerifier withClock(Clock clock) {
        return new WebhookVerifier(secrets, tolerance, clock);
    }

    /**
     * Whether one of the signatures fits. A header that is missing is null.
     *
     * @param id the header {@code webhook-id}, as it came
     * @param timestamp the header {@code webhook-timestamp}
     * @param signature the header {@code webhook-signature}
     * @param body the body as bytes, as it came: before anything parses it
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
