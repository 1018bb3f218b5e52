package outbox.rabbitmq;

import org.slf4j.MDC;
import outbox.spi.PrintableText;

/**
 * The fields {@code eventId}, {@code traceId}, {@code queue} and {@code consumer} of log lines about a message, in
 * the diagnostic context of slf4j, which the client of RabbitMQ brings. They hold for the
 * lines of the handler too.
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

    /** The text may come from others: it must not begin a line of its own. */
    private static void put(String field, String value) {
        if (value.isEmpty()) {
            MDC.remove(field);
        } else {
            MDC.put(field, PrintableText.of(value));
        }
    }
}
