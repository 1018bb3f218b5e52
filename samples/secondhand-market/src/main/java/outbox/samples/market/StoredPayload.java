package outbox.samples.market;

import org.jspecify.annotations.Nullable;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The payload as the outbox keeps it. The frozen table has no column for the trace, so the trace leads the stored payload, and leaves it on the way to the broker, where the message has a
 * field for it.
 */
record StoredPayload(@Nullable String traceId, String payload) {

    private static final Pattern TRACED = Pattern.compile("\\{\"traceId\":\"([A-Za-z0-9._-]{1,64})\",");

    static String of(String traceId, String payload) {
        return "{\"traceId\":\"" + traceId + "\"," + payload.substring(1);
    }

    static StoredPayload parse(String stored) {
        Matcher traced = TRACED.matcher(stored);
        return traced.lookingAt()
                ? new StoredPayload(traced.group(1), "{" + stored.substring(traced.end()))
                : new StoredPayload(null, stored);
    }
}
