package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The trace of the current thread, stored in the MDC of the log. */
final class Trace {

    static final String KEY = "traceId";

    private static final Pattern ID = Pattern.compile("[A-Za-z0-9._-]{1,64}");
    private static final Pattern TRACE_PARENT = Pattern.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}");

    private Trace() {}

    static String current() {
        String current = MDC.get(KEY);
        return current == null ? next() : current;
    }

    /**
     * Returns the trace of the caller, from a W3C traceparent or an id. Returns a new trace if the caller sends none
     * or an invalid one.
     */
    static String of(@Nullable String traceParent, @Nullable String id) {
        Matcher parent = TRACE_PARENT.matcher(traceParent == null ? "" : traceParent);
        if (parent.matches()) {
            return parent.group(1);
        }
        return id != null && ID.matcher(id).matches() ? id : next();
    }

    private static String next() {
        return "trace-" + UUID.randomUUID();
    }
}
