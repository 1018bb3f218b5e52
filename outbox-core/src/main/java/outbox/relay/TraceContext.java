package outbox.relay;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/** The W3C trace context of whoever writes an event: the values of its two headers, kept as they are. */
public record TraceContext(String traceParent, @Nullable String traceState) {

    public TraceContext {
        Objects.requireNonNull(traceParent, "traceParent");
    }
}
