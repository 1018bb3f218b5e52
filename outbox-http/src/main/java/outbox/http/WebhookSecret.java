package outbox.http;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A secret that sender and receiver share, as defined by Standard Webhooks: 24 to 64 random bytes. Immutable. {@code
 * toString} does not contain it.
 */
public final class WebhookSecret {

    private static final String PREFIX = "whsec_";
    private static final String ALGORITHM = "HmacSHA256";
    private static final int SHORTEST = 24;
    private static final int LONGEST = 64;

    private final byte[] bytes;

    private WebhookSecret(byte[] bytes) {
        if (bytes.length < SHORTEST || bytes.length > LONGEST) {
            throw new IllegalArgumentException("A webhook secret must have " + SHORTEST + " to " + LONGEST
                    + " bytes, not " + bytes.length + ". Make one with: openssl rand -base64 32");
        }
        this.bytes = bytes;
    }

    /** Parses the usual format: {@code whsec_} followed by Base64. */
    public static WebhookSecret parse(String text) {
        if (!text.startsWith(PREFIX)) {
            throw new IllegalArgumentException("A webhook secret must start with " + PREFIX + ", followed by Base64");
        }
        try {
            return new WebhookSecret(Base64.getDecoder().decode(text.substring(PREFIX.length())));
        } catch (IllegalArgumentException e) {
            if (e.getMessage() != null && e.getMessage().startsWith("A webhook secret")) {
                throw e;
            }
            // without its cause, whose message quotes characters of the secret
            throw new IllegalArgumentException("A webhook secret must be Base64 after " + PREFIX);
        }
    }

    /** Creates a secret. The array is copied. */
    public static WebhookSecret of(byte[] bytes) {
        return new WebhookSecret(bytes.clone());
    }

    /**
     * Returns the signature of a body.
     *
     * @param timestamp the time of sending, in seconds since 1970
     */
    String sign(String id, long timestamp, byte[] body) {
        return "v1," + Base64.getEncoder().encodeToString(hmac(id, timestamp, body));
    }

    private byte[] hmac(String id, long timestamp, byte[] body) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(bytes, ALGORITHM));
            mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
            return mac.doFinal(body);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("Every JDK has " + ALGORITHM, e);
        }
    }

    @Override
    public String toString() {
        return "WebhookSecret[" + bytes.length + " bytes]";
    }
}
