package outbox.testing;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.RetryLaterException;
import outbox.dispatch.RetryPolicy;
import outbox.memory.MemoryEventStore;
import outbox.memory.MemoryTransactions;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.registry.DefaultListenerRegistry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.testing.OutboxAssertions.assertThat;

/** An outbox under test without a database; {@code TestOutboxOnH2Test} has the same with one. */
@Timeout(60)
class TestOutboxTest {

    private final List<String> received = Collections.synchronizedList(new ArrayList<>());
    private final DefaultListenerRegistry listeners = new DefaultListenerRegistry();

    @RegisterExtension
    final TestOutbox outbox = TestOutbox.inMemory(listeners);

    private void write(EventEnvelope... events) {
        outbox.transactions().run(() -> outbox.writer().writeAll(List.of(events)));
    }

    private static EventEnvelope event(String type, String payload) {
        return EventEnvelope.ofJson(type, payload);
    }

    @Test
    void nothing_is_delivered_before_the_test_says_so() {
        listeners.register("order.created.v1", event -> received.add(event.payloadJson()));
        write(event("order.created.v1", "1"), event("order.created.v1", "2"), event("order.created.v1", "3"));

        assertThat(outbox).pending("order.created.v1").times(3).and().hasNoDead();
        assertThat(received).isEmpty();

        DeliveryReport report = outbox.deliver();

        assertThat(received).containsExactly("1", "2", "3");
        assertThat(report.delivered()).hasSize(3);
        assertThat(outbox).delivered("order.created.v1").times(3).to("__GLOBAL__:order.created.v1");
        assertThat(outbox.deliver().events()).isEmpty();
    }

    @Test
    void what_a_listener_writes_is_delivered_by_the_same_call() {
        listeners.register("order.created.v1", event -> write(event("mail.due.v1", "{}")));
        listeners.register("mail.due.v1", event -> received.add(event.eventType()));
        write(event("order.created.v1", "{}"));

        outbox.deliver();

        assertThat(received).containsExactly("mail.due.v1");
    }

    @Test
    void an_event_that_fails_has_one_attempt_per_delivery_and_its_retry_comes_with_the_clock() {
        MemoryEventStore store = MemoryEventStore.builder().build();
        MemoryTransactions transactions = new MemoryTransactions(store);
        listeners.register("broken.v1", event -> {
            received.add(event.eventType());
            throw new IllegalStateException("the mail server is down");
        });
        try (TestOutbox patient = TestOutbox.builder(store, store.connections(), transactions)
                .listeners(listeners)
                .dispatcher(builder -> builder.maxAttempts(3).retryPolicy(RetryPolicy.fixed(Duration.ofHours(1))))
                .build()) {
            transactions.run(() -> patient.writer().write("broken.v1", "{}"));

            assertThat(patient.deliver().retrying()).hasSize(1);
            assertThat(patient.deliver().events()).isEmpty();
            patient.clock().advance(Duration.ofMinutes(59));
            assertThat(patient.deliver().events()).isEmpty();
            patient.clock().advance(Duration.ofMinutes(2));
            assertThat(patient.deliver().retrying()).hasSize(1);
            assertThat(patient).pending("broken.v1").withAttempts(2).withError("the mail server is down");
            DeliveryReport last = patient.deliverUntilQuiet();

            assertThat(last.dead()).hasSize(1);
            assertThat(received).hasSize(3);
            assertThat(patient)
                    .dead("broken.v1")
                    .withError("the mail server is down")
                    .withAttempts(3);
        }
    }

    @Test
    void a_retry_that_is_due_meanwhile_is_for_the_next_delivery_too() {
        listeners.register("impatient.v1", event -> {
            received.add(event.eventType());
            throw new RetryLaterException(Duration.ofMinutes(1), "later");
        });
        listeners.register("slow.v1", event -> {
            Awaitility.await() // the wait of a retry counts from its mark
                    .until(() -> outbox.events().stream().anyMatch(other -> other.status() == EventStatus.RETRY));
            outbox.clock().advance(Duration.ofHours(1));
        });
        write(event("impatient.v1", "{}"), event("slow.v1", "{}"));

        DeliveryReport report = outbox.deliver();

        assertThat(report.retrying()).hasSize(1);
        assertThat(received).hasSize(1);
        assertThat(outbox.deliver().retrying()).hasSize(1);
    }

    @Test
    void the_clock_brings_due_times_and_deadlines() {
        listeners.register("reminder.v1", event -> received.add(event.payloadJson()));
        outbox.clock().advance(Duration.ofDays(1));
        write(
                EventEnvelope.builder("reminder.v1")
                        .payloadJson("1")
                        .deliverAfter(Duration.ofHours(1))
                        .build(),
                EventEnvelope.builder("reminder.v1")
                        .payloadJson("2")
                        .availableAt(outbox.clock().instant().plus(Duration.ofHours(2)))
                        .build(),
                EventEnvelope.builder("reminder.v1")
                        .payloadJson("3")
                        .deliverAfter(Duration.ofHours(5))
                        .expireAfter(Duration.ofHours(3))
                        .build());

        assertThat(outbox.deliver().events()).isEmpty();
        outbox.clock().advance(Duration.ofMinutes(61));
        outbox.deliver();
        assertThat(received).containsExactly("1");
        outbox.clock().advance(Duration.ofHours(1));
        outbox.deliver();
        assertThat(received).containsExactly("1", "2");
        outbox.clock().advance(Duration.ofHours(1));
        DeliveryReport late = outbox.deliver();

        assertThat(late.dead()).hasSize(1);
        assertThat(outbox).dead("reminder.v1").withPayload("3");
    }

    @Test
    void quiet_is_when_everything_that_can_be_delivered_was() {
        listeners.register("reminder.v1", event -> received.add(event.payloadJson()));
        write(EventEnvelope.builder("reminder.v1")
                .payloadJson("1")
                .deliverAfter(Duration.ofDays(300))
                .build());

        DeliveryReport report = outbox.deliverUntilQuiet();

        assertThat(report.delivered()).hasSize(1);
        assertThat(outbox.clock().ahead()).isGreaterThan(Duration.ofDays(299));
    }

    @Test
    void a_retry_that_became_due_by_itself_is_delivered_before_it_is_quiet() {
        listeners.register("broken.v1", event -> {
            throw new IllegalStateException("the mail server is down");
        });
        MemoryEventStore store = MemoryEventStore.builder().build();
        MemoryTransactions transactions = new MemoryTransactions(store);
        try (TestOutbox quick = TestOutbox.builder(store, store.connections(), transactions)
                .listeners(listeners)
                .dispatcher(builder -> builder.maxAttempts(3).retryPolicy(attempts -> 0))
                .build()) {
            transactions.run(() -> quick.writer().write("broken.v1", "{}"));

            quick.deliverUntilQuiet();

            assertThat(quick).dead("broken.v1").withAttempts(3);
        }
    }

    @Test
    void events_that_are_deleted_as_delivered_are_remembered() {
        listeners.register("order.created.v1", event -> received.add(event.payloadJson()));
        MemoryEventStore store = MemoryEventStore.builder().build();
        MemoryTransactions transactions = new MemoryTransactions(store);
        try (TestOutbox forgetful = TestOutbox.builder(store, store.connections(), transactions)
                .listeners(listeners)
                .dispatcher(builder -> builder.deleteDone(true))
                .build()) {
            transactions.run(() -> forgetful.writer().write("order.created.v1", "{}"));

            DeliveryReport report = forgetful.deliver();

            assertThat(store.pending()).isZero();
            assertThat(report.delivered()).hasSize(1);
            assertThat(forgetful).wrote("order.created.v1").times(1);
            assertThat(forgetful).delivered("order.created.v1").withPayload("{}");
            forgetful.clear();
            assertThat(forgetful).wroteNothing();
        }
    }

    @Test
    void events_of_an_aggregate_are_delivered_in_order_and_wait_for_a_dead_one() {
        MemoryEventStore store = MemoryEventStore.builder().build();
        MemoryTransactions transactions = new MemoryTransactions(store);
        EventListener third = event -> {
            received.add(event.payloadJson());
            if (event.payloadJson().equals("2")) {
                throw new IllegalStateException("no");
            }
        };
        listeners.register("order", "changed.v1", third);
        try (TestOutbox ordered = TestOutbox.builder(store, store.connections(), transactions)
                .listeners(listeners)
                .dispatcher(builder -> builder.ordering(Ordering.perAggregate()).maxAttempts(1))
                .build()) {
            transactions.run(() -> {
                for (String payload : List.of("1", "2", "3")) {
                    ordered.writer()
                            .write(EventEnvelope.builder("changed.v1")
                                    .aggregateType("order")
                                    .aggregateId("42")
                                    .payloadJson(payload)
                                    .build());
                }
            });

            DeliveryReport report = ordered.deliverUntilQuiet();

            assertThat(received).containsExactly("1", "2");
            assertThat(report.delivered()).hasSize(1);
            assertThat(report.dead()).hasSize(1);
            assertThat(ordered)
                    .pending("changed.v1")
                    .forAggregate("order", "42")
                    .withPayload("3");
        }
    }

    @Test
    void inside_a_transaction_what_was_written_is_seen_but_not_delivered() {
        outbox.transactions().run(() -> {
            outbox.writer().write("order.created.v1", "{}");

            assertThat(outbox).wrote("order.created.v1");
            assertThatThrownBy(outbox::deliver)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("A transaction is active on this thread");
            assertThatThrownBy(outbox::clear).isInstanceOf(IllegalStateException.class);
        });
        assertThatThrownBy(() -> outbox.transactions().run(() -> {
                    outbox.writer().write("order.lost.v1", "{}");
                    throw new IllegalStateException("rolled back");
                }))
                .hasMessage("rolled back");

        assertThat(outbox).wrote("order.created.v1").and().didNotWrite("order.lost.v1");
    }

    @Test
    void a_listener_that_does_not_end_is_named() throws InterruptedException {
        CountDownLatch never = new CountDownLatch(1);
        listeners.register("slow.v1", event -> never.await(30, TimeUnit.SECONDS));
        MemoryEventStore store = MemoryEventStore.builder().build();
        MemoryTransactions transactions = new MemoryTransactions(store);
        try (TestOutbox hasty = TestOutbox.builder(store, store.connections(), transactions)
                .listeners(listeners)
                .timeout(Duration.ofMillis(100))
                .build()) {
            transactions.run(() -> hasty.writer().write("slow.v1", "{}"));

            assertThatThrownBy(hasty::deliver)
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("still being delivered after PT0.1S: [slow.v1]");
            never.countDown();
        }
    }

    @Test
    void clear_empties_an_outbox_whatever_is_in_it() {
        listeners.register("done.v1", event -> received.add("done"));
        write(
                event("done.v1", "1"),
                event("dead.v1", "2"),
                EventEnvelope.builder("done.v1")
                        .payloadJson("3")
                        .deliverAfter(Duration.ofDays(1))
                        .build());
        outbox.deliver();
        assertThat(outbox.events())
                .extracting(WrittenEvent::status)
                .containsExactlyInAnyOrder(EventStatus.DONE, EventStatus.DEAD, EventStatus.NEW);

        outbox.clear();

        assertThat(outbox).wroteNothing();
        assertThat(outbox.clock().ahead()).isZero();
    }

    @Test
    void wrong_settings_are_refused() {
        MemoryEventStore store = MemoryEventStore.builder().build();
        TestOutbox.Builder builder = TestOutbox.builder(store, store.connections(), new MemoryTransactions(store));

        assertThatThrownBy(() -> builder.timeout(Duration.ZERO)).hasMessageContaining("timeout must be positive");
        assertThatThrownBy(() -> new TestClock().advance(Duration.ofMillis(-1)))
                .hasMessageContaining("The clock goes forward only");
        assertThatThrownBy(() -> new TestClock().set(new TestClock().instant().minusSeconds(9)))
                .hasMessageContaining("The clock goes forward only");
    }
}
