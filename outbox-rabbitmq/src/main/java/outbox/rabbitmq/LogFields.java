package outbox.rabbitmq;

import org.slf4j.MDC;
import outbox.internal.text.PrintableText;

/**
 * Sets the fields {@code eventId}, {@code traceId}, {@code queue} and {@code consumer} in the MDC of SLF4J, which is
 * a dependency of the RabbitMQ client. Log lines of the handler contain them too.
 */
record LogFields(Arrival arrival, String queue, String consumer) {

    void during(Runnable work) {
        put("eventId", arrival.eventId());
        put("traceId", arrival.traceId());
        put("queue", queue);
        put("consumer", consumer);
        try {
            work.run();
        } finally {
            MDC.remove("eventId");
            MDC.remove("traceId");
            MDC.remove("queue");
            MDC.remove("consumer");
        }
    }

    /** Replaces control characters: the value comes from a message and must not start a new log line. */
    private static void put(String field, String value) {
        if (value.isEmpty()) {
            MDC.remove(field);
        } else {
            MDC.put(field, PrintableText.of(value));
        }
    }
}
