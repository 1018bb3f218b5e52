package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.QueuedEvent.Source;
import outbox.fake.CapturedLog;
import outbox.internal.Scheduler;
import outbox.model.EventStatus;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.Mark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

class FailureLogTest {

    private final SettableNanos clock = new SettableNanos();
    private final DefaultListenerRegistry registry = new DefaultListenerRegistry();
    private final List<Map<String, String>> fields = new ArrayList<>();
    private final FailureLog failures = new FailureLog(
            "orders",
            registry,
            List.of(new EventInterceptor() {
                @Override
                public AutoCloseable enterLog(EventEnvelope event, Map<String, String> known) {
                    fields.add(known);
                    return () -> {
                        throw new IllegalStateException("a scope that fails harms nobody");
                    };
                }
            }),
            clock);
    private final CapturedLog log = CapturedLog.of(FailureLog.class);

    @AfterEach
    void close() {
        log.close();
    }

    @Test
    void a_failure_is_logged_with_all_that_identifies_the_event() {
        Delivery delivery = delivery(EventEnvelope.builder("order.placed")
                .eventId("e-1")
                .tenantId("t 1")
                .payloadJson("{}")
                .build());

        failures.failed(delivery, new IllegalStateException(), retry(delivery, "cannot book"));

        assertThat(log.messages(Level.WARNING))
                .containsExactly("Delivery failed: table=orders topic=order.placed event_id=e-1 tenant_id='t 1'"
                        + " attempts=1 listener=__GLOBAL__:order.placed outcome=retry error=cannot book");
        assertThat(fields)
                .singleElement()
                .satisfies(known -> assertThat(known)
                        .containsEntry("table", "orders")
                        .containsEntry("event_id", "e-1")
                        .containsEntry("tenant_id", "t 1")
                        .containsEntry("attempts", "1"));
    }

    @Test
    void an_event_is_logged_once_for_each_state_of_affairs() {
        Delivery delivery = delivery("order.placed");
        for (int i = 0; i < 20; i++) {
            failures.failed(delivery, new IllegalStateException(), retry(delivery, "one"));
            clock.pass(Duration.ofMinutes(2));
        }
        failures.failed(delivery, new IllegalArgumentException(), retry(delivery, "other"));
        failures.failed(delivery, new IllegalArgumentException(), dead(delivery, "other"));

        assertThat(log.messages(Level.WARNING))
                .hasSize(2)
                .anyMatch(line -> line.endsWith("error=one"))
                .anyMatch(line -> line.endsWith("error=other"));
        assertThat(log.messages(Level.SEVERE)).singleElement().asString().contains("outcome=dead");
    }

    @Test
    void after_an_hour_it_is_logged_again_with_what_was_left_out() {
        Delivery delivery = delivery("order.placed");
        failures.failed(delivery, new IllegalStateException(), retry(delivery, "one"));
        failures.failed(delivery, new IllegalStateException(), retry(delivery, "one"));
        clock.pass(Duration.ofMinutes(61));

        failures.failed(delivery, new IllegalStateException(), retry(delivery, "one"));

        assertThat(log.messages(Level.WARNING))
                .hasSize(2)
                .last()
                .asString()
                .endsWith("error=one (and 1 more failures of this kind since the last line)");
    }

    @Test
    void many_events_that_fail_alike_are_summed_up() {
        for (int i = 0; i < 5_000; i++) {
            Delivery delivery = delivery("order.placed");
            failures.failed(delivery, new IllegalStateException(), retry(delivery, "down"));
        }
        clock.pass(FailureLog.INTERVAL);
        Delivery delivery = delivery("order.placed");
        failures.failed(delivery, new IllegalStateException(), retry(delivery, "down"));

        assertThat(log.messages(Level.WARNING))
                .hasSize(FailureLog.LINES_PER_KIND + 1)
                .last()
                .asString()
                .endsWith("(and 4990 more failures of this kind since the last line)");
    }

    @Test
    void many_kinds_of_failures_have_a_limit_too() {
        for (int i = 0; i < 5_000; i++) {
            Delivery delivery = delivery("type-" + i);
            failures.failed(delivery, new IllegalStateException(), retry(delivery, "down"));
        }

        assertThat(log.messages(Level.WARNING)).hasSize(FailureLog.LINES);
    }

    @Test
    void what_is_put_off_and_not_counted_is_no_warning() {
        Delivery delivery = delivery("order.placed");

        failures.failed(
                delivery,
                new IllegalStateException(),
                Mark.retry(delivery.eventId(), "token", false, Duration.ofSeconds(5), "not yet"));

        assertThat(log.messages(Level.WARNING)).isEmpty();
        assertThat(log.messages(Level.INFO)).singleElement().asString().contains("outcome=put_off");
    }

    @Test
    void a_dispatcher_logs_the_failures_of_its_listeners() {
        EventListener failing = event -> {
            throw new IllegalStateException("no");
        };
        try (DispatcherRig rig = new DispatcherRig()) {
            rig.on("fails", failing);
            OutboxDispatcher dispatcher = rig.start(settings -> settings.maxAttempts(1));
            QueuedEvent event = rig.hot("fails");
            dispatcher.enqueueHot(event);

            eventually(() ->
                    assertThat(rig.store.status(event.envelope().eventId())).isEqualTo(EventStatus.DEAD));
            assertThat(log.messages(Level.SEVERE))
                    .singleElement()
                    .asString()
                    .contains("event_id=" + event.envelope().eventId(), "outcome=dead", "IllegalStateException: no");
        }
    }

    private static Delivery delivery(String type) {
        return delivery(EventEnvelope.ofJson(type, "{}"));
    }

    private static Delivery delivery(EventEnvelope event) {
        return new Delivery(new QueuedEvent(event, Source.COLD, 0), null, false, Scheduler.system());
    }

    private static Mark retry(Delivery delivery, String error) {
        return Mark.retry(delivery.eventId(), "token", true, Duration.ofSeconds(1), error);
    }

    private static Mark dead(Delivery delivery, String error) {
        return Mark.dead(delivery.eventId(), "token", true, error);
    }
}
