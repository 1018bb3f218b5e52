package outbox.samples.market;

import org.jspecify.annotations.Nullable;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The payload as the outbox stores it. The table layout is fixed and has no column for the trace. The stored payload
 * therefore begins with the trace, which is removed before sending, because the message has its own field for it.
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
