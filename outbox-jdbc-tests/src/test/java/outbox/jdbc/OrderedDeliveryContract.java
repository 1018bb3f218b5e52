package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.AfterCommitHook;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.OutboxDispatcher;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.EventOrder;
import outbox.spi.ForwardingEventStore;
import outbox.spi.LeasingEventStore;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Contract tests for ordered delivery on one node, on both the hot and the cold path. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class OrderedDeliveryContract extends OrderFixture {

    OrderedDeliveryContract(Databases database) {
        super(database);
    }

    // ---- paths ----

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void an_event_that_failed_is_not_overtaken_while_it_waits_for_its_retry(boolean hot) {
        Node node = node(Ordering.perAggregate(), dispatcher -> dispatcher.retryPolicy(attempts -> 300), poller -> {});
        AtomicBoolean failed = new AtomicBoolean();
        log.behaviour = event -> {
            if (OrderLog.is(event, "a", 1) && failed.compareAndSet(false, true)) {
                throw new IllegalStateException("the first time fails");
            }
        };
        node.poller.start();

        write(node, hot ? node.writer : node.coldWriter, events("a", 1, 5));
        write(node, hot ? node.writer : node.coldWriter, events("b", 1, 5));

        awaitAllDone(10);
        assertThat(log.started("a")).containsExactly(1, 1, 2, 3, 4, 5);
        assertThat(log.started("b")).containsExactly(1, 2, 3, 4, 5);
        log.assertInOrder();
    }

    @Test
    void an_event_written_while_the_one_before_waits_for_its_retry_waits_too() {
        Node node = node(Ordering.perAggregate(), dispatcher -> dispatcher.retryPolicy(attempts -> 1500), poller -> {});
        AtomicBoolean failed = new AtomicBoolean();
        log.behaviour = event -> {
            if (OrderLog.is(event, "a", 1) && failed.compareAndSet(false, true)) {
                throw new IllegalStateException("the first time fails");
            }
        };
        write(node, node.writer, events("a", 1, 1));
        await().until(() -> db.count("status = 2") == 1);

        write(node, node.writer, events("a", 2, 2));
        write(node, node.writer, events("b", 1, 1));
        awaitDone("b", 1);
        assertThat(log.started("a")).containsExactly(1);

        node.poller.start();
        awaitAllDone(3);
        assertThat(log.started("a")).containsExactly(1, 1, 2);
        log.assertInOrder();
    }

    @Test
    void a_hot_event_does_not_overtake_the_cold_one_before_it() {
        Node node = node();
        write(node, node.coldWriter, events("a", 1, 1));

        write(node, node.writer, events("a", 2, 3));
        write(node, node.writer, events("b", 1, 1));
        awaitDone("b", 1);
        assertThat(log.started("a")).isEmpty();

        node.poller.start();
        awaitAllDone(4);
        assertThat(log.started("a")).containsExactly(1, 2, 3);
        log.assertInOrder();
    }

    @Test
    void events_whose_hooks_run_in_reverse_are_delivered_as_they_were_written() {
        Node node = node();
        List<Runnable> hooks = new ArrayList<>();
        DispatcherCommitHook hook = new DispatcherCommitHook(node.dispatcher);
        OutboxWriter writer = new OutboxWriter(node.txContext, db.store(), new AfterCommitHook() {
            @Override
            public @Nullable Claim birthClaim(int events, long bytes) {
                return hook.birthClaim(events, bytes);
            }

            @Override
            public void onCommit(EventEnvelope event) {
                hook.onCommit(event);
            }

            @Override
            public void onCommit(EventEnvelope event, @Nullable Claim claim) {
                hooks.add(() -> hook.onCommit(event, claim));
            }
        });

        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            writer.writeAll(List.of(events("a", 1, 3)));
            writer.writeAll(List.of(events("a", 4, 5)));
            tx.commit();
        }
        write(node, writer, events("a", 6, 10));
        Collections.reverse(hooks);
        hooks.forEach(Runnable::run);

        node.poller.start();
        awaitAllDone(10);
        assertThat(log.started("a")).containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        log.assertInOrder();
    }

    @Test
    void events_of_one_transaction_whose_ids_say_otherwise_are_delivered_as_they_were_written() {
        Node node = node();
        List<EventEnvelope> events = new ArrayList<>();
        for (int number = 1; number <= 50; number++) {
            events.add(EventEnvelope.builder("T")
                    .eventId("id-" + (1000 - number))
                    .aggregateType("Order")
                    .aggregateId("a")
                    .payloadJson(Integer.toString(number))
                    .build());
        }

        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            node.coldWriter.writeAll(events.subList(0, 25));
            node.writer.writeAll(events.subList(25, 50));
            tx.commit();
        }

        node.poller.start();
        awaitAllDone(50);
        assertThat(log.started("a")).isSorted().hasSize(50);
        log.assertInOrder();
    }

    @Test
    void an_event_whose_outcome_cannot_be_written_is_not_followed_by_the_next_one() {
        Node node = node();
        CountDownLatch hold = latch();
        log.behaviour = event -> {
            if (OrderLog.is(event, "a", 1)) {
                pass(hold);
                node.down = true;
            }
        };
        write(node, node.writer, events("a", 1, 2));
        write(node, node.writer, events("b", 1, 1));
        awaitDone("b", 1); // so the second event is waiting now

        hold.countDown();
        await().until(() -> node.counts.markFailures.get() >= 3);
        assertThat(log.succeeded("a")).containsExactly(1);
        assertThat(log.started("a")).containsExactly(1);
        node.down = false;

        awaitAllDone(3);
        assertThat(log.started("a")).containsExactly(1, 2);
    }

    @Test
    void an_open_transaction_delays_only_its_own_aggregate() throws Exception {
        Node node = node();
        node.poller.start();

        CompletableFuture<Void> others;
        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            node.writer.write(OrderLog.event("late", 1));
            node.coldWriter.write(OrderLog.event("late", 2));
            others = CompletableFuture.runAsync(() -> {
                write(node, node.writer, events("hot", 1, 50));
                write(node, node.coldWriter, events("cold", 1, 20));
                awaitDone("hot", 50);
                awaitDone("cold", 20);
            });
            others.get(60, TimeUnit.SECONDS);
            assertThat(log.started("late")).isEmpty();
            tx.commit();
        }

        awaitAllDone(72);
        assertThat(log.started("late")).containsExactly(1, 2);
        log.assertInOrder();
    }

    // ---- types ----

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void events_of_types_without_order_neither_wait_nor_make_others_wait(boolean only) {
        Ordering ordering = Ordering.perAggregate();
        Node node = node(
                only ? ordering.onlyTypes(List.of("T")) : ordering.exceptTypes(List.of("Free")),
                dispatcher -> dispatcher.maxAttempts(1),
                poller -> {});
        CountDownLatch hold = latch();
        log.behaviour = event -> {
            if (event.eventType().equals("T") && OrderLog.number(event) == 1) {
                pass(hold);
            }
            if (OrderLog.number(event) == 100) {
                throw new IllegalStateException("never succeeds");
            }
        };
        node.poller.start();

        write(node, node.coldWriter, OrderLog.event("Free", "a", 100));
        write(node, node.writer, events("a", 1, 2));
        write(node, node.writer, OrderLog.event("Free", "a", 101));
        write(node, node.coldWriter, OrderLog.event("Free", "a", 102));
        awaitDone("a", 2); // the unordered events, while the ordered ones wait
        assertThat(log.started("a")).doesNotContain(2);
        hold.countDown();

        awaitAllDone(4);
        assertThat(log.started("a").stream().filter(number -> number < 100)).containsExactly(1, 2);
        assertThat(db.count("status = 3")).isEqualTo(1);
    }

    @Test
    void events_without_an_aggregate_id_have_no_order() {
        Node node = node();
        CountDownLatch hold = latch();
        log.behaviour = event -> {};
        node.listener = event -> {
            if (event.payloadJson().equals("1")) {
                pass(hold);
            }
        };

        write(node, node.writer, EventEnvelope.ofJson("T", "1"), EventEnvelope.ofJson("T", "2"));
        write(node, node.coldWriter, EventEnvelope.ofJson("T", "3"));
        node.poller.poll();

        await().until(() -> db.count("status = 1") == 2);
        hold.countDown();
        awaitAllDone(3);
    }

    // ---- many events of one aggregate ----

    @Test
    void a_long_queue_of_one_aggregate_keeps_no_other_waiting() {
        Node node = node();
        db.insert(List.of(events("long", 1, 5000)));
        db.insert(IntStream.range(0, 100)
                .mapToObj(i -> OrderLog.event("short-" + i, 1))
                .toList());

        node.poller.start();

        await().atMost(LONG).until(() -> db.count("status = 1 AND aggregate_id LIKE 'short-%'") == 100);
        assertThat(db.count("status = 1 AND aggregate_id = 'long'")).isLessThan(2500);
        log.assertInOrder();
    }

    @Test
    void behind_a_slow_event_its_aggregate_waits_and_no_other() {
        Node node = node();
        CountDownLatch hold = latch();
        log.behaviour = event -> {
            if (OrderLog.is(event, "slow", 1)) {
                pass(hold);
            }
        };
        node.poller.start();

        write(node, node.writer, events("slow", 1, 301));
        write(node, node.writer, events("hot", 1, 20));
        write(node, node.coldWriter, events("cold", 1, 20));
        awaitDone("hot", 20);
        awaitDone("cold", 20);
        assertThat(log.started("slow")).containsExactly(1);
        hold.countDown();

        awaitAllDone(341);
        assertThat(log.started("slow")).isSorted().hasSize(301);
        log.assertInOrder();
    }

    // ---- kinds of listeners ----

    @Test
    void asynchronous_listeners_keep_the_order() {
        Random random = new Random(5);
        AsyncEventListener listener = event -> {
            log.start(event);
            return CompletableFuture.supplyAsync(
                    () -> {
                        log.success(event);
                        return event;
                    },
                    CompletableFuture.delayedExecutor(random.nextInt(4), TimeUnit.MILLISECONDS));
        };

        deliverMixed(listener);
    }

    @Test
    void a_batch_never_holds_two_events_of_one_aggregate() {
        List<List<EventEnvelope>> batches = new CopyOnWriteArrayList<>();
        BatchEventListener listener = events -> {
            batches.add(events);
            events.forEach(log::start);
            BatchEventListener.Outcome outcome = BatchEventListener.Outcome.allDelivered();
            for (EventEnvelope event : events) {
                if (batches.size() % 10 == 9 && event.equals(events.get(0))) {
                    outcome = outcome.withFailed(event, new IllegalStateException("the first of every tenth batch"));
                } else {
                    log.success(event);
                }
            }
            return outcome;
        };

        deliverMixed(listener);

        assertThat(batches)
                .allSatisfy(batch ->
                        assertThat(batch).extracting(OrderLog::aggregate).doesNotHaveDuplicates());
        assertThat(batches).anySatisfy(batch -> assertThat(batch).hasSizeGreaterThan(1));
    }

    private void deliverMixed(EventListener listener) {
        Node node = node(
                Ordering.perAggregate(),
                dispatcher -> dispatcher.maxAttempts(1000).listenerRegistry((aggregateType, eventType) -> listener),
                poller -> {});
        node.poller.start();

        for (int number = 1; number <= 40; number++) {
            try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
                for (String aggregate : List.of("a", "b", "c", "d", "e")) {
                    (number % 7 == 0 ? node.coldWriter : node.writer).write(OrderLog.event(aggregate, number));
                }
                tx.commit();
            }
        }

        awaitAllDone(200);
        log.assertInOrder();
    }

    // ---- rejected settings ----

    @Test
    void a_table_without_numbers_is_refused_with_the_name_of_what_it_needs() throws Exception {
        db = database.fixture(OutboxSchema.statements(database.store()), database == Databases.POSTGRES);

        assertThatThrownBy(this::node).hasMessageContaining("V2__outbox_order.sql");
    }

    @Test
    void a_store_that_does_not_number_its_events_is_refused() {
        LeasingEventStore plain = new ForwardingEventStore(db.store()) {
            @Override
            public <T> Optional<T> capability(Class<T> type) {
                return super.capability(type).filter(part -> type != EventOrder.class);
            }
        };
        OutboxDispatcher.Builder builder = OutboxDispatcher.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(plain)
                .listenerRegistry((aggregateType, eventType) -> log)
                .ordering(Ordering.perAggregate());

        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("EventOrder");
    }
}
