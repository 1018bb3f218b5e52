package outbox;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/** The W3C trace context of the code that writes an event: the unchanged values of the two headers. */
public record TraceContext(String traceParent, @Nullable String traceState) {

    public TraceContext {
        Objects.requireNonNull(traceParent, "traceParent");
    }
}
