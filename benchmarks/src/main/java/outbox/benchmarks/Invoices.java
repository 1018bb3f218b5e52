package outbox.benchmarks;

import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.Protection.Limit;
import outbox.dispatch.RetryPolicy;
import outbox.dispatch.RetryRules;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.OutboxSchema;
import outbox.registry.DefaultListenerRegistry;

import java.net.ConnectException;
import java.time.Duration;
import javax.sql.DataSource;

/**
 * The second kind of event, which uses delivery control: keys, due times, priorities, and a destination behind a
 * circuit breaker and limits.
 */
final class Invoices {
    static final Duration DELAY = Duration.ofMillis(200);

    private static final String AGGREGATE = "Invoice";
    private static final String TYPE = "InvoiceSent";
    private static final String LISTENER = AGGREGATE + ":" + TYPE;
    private static final String COUNT = "SELECT count(*) FROM outbox_event WHERE event_type = '" + TYPE + "'";

    static final String DONE = COUNT + " AND status = 1";
    static final String DEAD = COUNT + " AND status = 3";
    static final String UNTOUCHED = COUNT + " AND status IN (0, 2) AND attempts = 0";
    static final String FREE = UNTOUCHED + " AND locked_by IS NULL";

    private Invoices() {}

    /** Adds the capabilities that invoices need, and the other capabilities of delivery control. */
    static void extendSchema(DataSource dataSource) {
        AbstractJdbcEventStore store = JdbcEventStores.detect(dataSource);
        OutboxSchema.create(
                dataSource, store, Capability.KEYS, Capability.PRIORITY, Capability.PAUSES, Capability.ATTEMPTS);
    }

    /** Creates an event with a key, with a due time, or with a priority, in turn. */
    static EventEnvelope envelope(Event event) {
        EventEnvelope.Builder builder = EventEnvelope.builder(TYPE)
                .aggregateType(AGGREGATE)
                .aggregateId(event.aggregateId())
                .payloadJson(event.payload());
        return switch (event.number() % 3) {
            case 0 -> builder.dedupKey("invoice-" + event.number()).build();
            case 1 -> builder.deliverAfter(DELAY).build();
            default -> builder.priority(5).build();
        };
    }

    static void register(DefaultListenerRegistry listeners, Destination destination) {
        AsyncEventListener listener = event -> destination.receive(event.payloadJson());
        listeners.register(AGGREGATE, TYPE, listener);
    }

    /**
     * Adds rules, a breaker with its default delay, and limits that are wide enough not to delay anything. None of
     * them applies to plain events.
     */
    static void protect(OutboxDispatcher.Builder builder) {
        CircuitBreaker breaker =
                CircuitBreaker.named("invoices").openOn(ConnectException.class).build();
        builder.protection(Protection.builder()
                        .breakerForListener(LISTENER, breaker)
                        .limitListener(
                                LISTENER,
                                Limit.rate(100_000, Duration.ofSeconds(1)).andConcurrency(Destination.AT_A_TIME))
                        .limitType("InvoicePaid", Limit.concurrency(4))
                        .limitEachTenant(Limit.concurrency(100))
                        .build())
                .retryRules(RetryRules.builder()
                        .exception(IllegalArgumentException.class, RetryRules.Rule.never())
                        .listener(LISTENER, RetryRules.Rule.waiting(RetryPolicy.fixed(Duration.ofSeconds(2))))
                        .type("InvoicePaid", RetryRules.Rule.atMost(3))
                        .build());
    }
}
