package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/** The four fields of every log line about an event (section 12). */
record LogFields(String eventId, @Nullable String traceId, String queue, String consumer) {

    /** Runs the work with these fields in the MDC of this thread. */
    void during(Runnable work) {
        MDC.put("eventId", eventId);
        MDC.put(Trace.KEY, traceId == null ? "" : traceId);
        MDC.put("queue", queue);
        MDC.put("consumer", consumer);
        try {
            work.run();
        } finally {
            MDC.remove("eventId");
            MDC.remove(Trace.KEY);
            MDC.remove("queue");
            MDC.remove("consumer");
        }
    }
}
