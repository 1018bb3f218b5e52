package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.TraceContext;
import outbox.TransactionStateException;
import outbox.relay.DispatchedMessage;
import outbox.relay.MessageDispatcher;
import outbox.relay.Meta;
import outbox.relay.Relay;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.Mark;
import outbox.spi.MetricsExporter;
import outbox.testing.contract.StoreFixture;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** The acceptance tests of a module's outbox, on real PostgreSQL. */
@Timeout(120)
class RelayTest {

    private final List<DispatchedMessage> delivered = new CopyOnWriteArrayList<>();
    private final List<Relay> relays = new ArrayList<>();

    @SuppressWarnings("NullAway.Init") // before each test
    private ModuleTable db;

    @BeforeEach
    void freshTable() {
        db = new ModuleTable();
    }

    @AfterEach
    void closeRelays() {
        relays.forEach(Relay::close);
    }

    private Relay relay(MessageDispatcher dispatcher, Consumer<Relay.Builder> settings) {
        return relay(db.store, dispatcher, settings);
    }

    private Relay relay(LayoutEventStore store, MessageDispatcher dispatcher, Consumer<Relay.Builder> settings) {
        Relay.Builder builder = Relay.builder()
                .connectionProvider(db.dataSource::getConnection)
                .eventStore(store)
                .dispatcher(message -> {
                    delivered.add(message);
                    dispatcher.dispatch(message);
                })
                .retryPolicy(attempts -> 0)
                .pollInterval(Duration.ofMillis(50));
        settings.accept(builder);
        Relay relay = builder.build();
        relays.add(relay);
        return relay;
    }

    // ---- publishing ----

    @Test
    void an_event_of_a_rolled_back_transaction_leaves_nothing_behind() throws SQLException {
        OutboxPublisher publisher = new OutboxPublisher();
        db.execute("CREATE TABLE org (id int)");
        try (Connection connection = db.dataSource.getConnection()) {
            connection.setAutoCommit(false);
            connection.createStatement().execute("INSERT INTO org VALUES (1)");
            publisher.enqueue(connection, db.table, message(UUID.randomUUID()));
            connection.rollback();
        }

        assertThat(db.count("1 = 1")).isZero();
        assertThat(db.number("SELECT COUNT(*) FROM org")).isZero();
    }

    @Test
    void a_repeated_event_id_answers_the_first_sequence_and_writes_nothing() throws SQLException {
        OutboxPublisher publisher = new OutboxPublisher();
        UUID eventId = UUID.randomUUID();

        long first = committed(publisher, message(eventId));
        long other = committed(publisher, message(UUID.randomUUID()));
        String versions = "SELECT xmin::text || ctid::text FROM " + db.table + " WHERE event_id = ?";
        String before = db.text(versions, eventId);
        long again = committed(publisher, message(eventId));

        assertThat(again).isEqualTo(first).isLessThan(other);
        assertThat(db.count("1 = 1")).isEqualTo(2);
        assertThat(db.text(versions, eventId)).isEqualTo(before);
    }

    @Test
    void two_transactions_with_the_same_event_id_get_the_same_sequence() throws Exception {
        OutboxPublisher publisher = new OutboxPublisher();
        UUID eventId = UUID.randomUUID();
        CyclicBarrier barrier = new CyclicBarrier(2);
        List<Long> sequences = new CopyOnWriteArrayList<>();
        List<Thread> threads = IntStream.range(0, 2)
                .mapToObj(i -> new Thread(() -> {
                    try {
                        barrier.await(10, TimeUnit.SECONDS);
                        sequences.add(committed(publisher, message(eventId)));
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }))
                .toList();
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join(20_000);
        }

        assertThat(sequences).hasSize(2);
        assertThat(sequences.get(0)).isEqualTo(sequences.get(1));
        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @Test
    void an_event_joins_the_transaction_of_the_thread_or_is_refused() {
        OutboxPublisher publisher = new OutboxPublisher();
        ThreadLocalTxContext context = new ThreadLocalTxContext();
        JdbcTransactionManager transactions = new JdbcTransactionManager(db.dataSource::getConnection, context);
        try (JdbcTransactionManager.Transaction transaction = transactions.begin()) {
            publisher.enqueue(context, db.table, message(UUID.randomUUID()));
            transaction.commit();
        }

        assertThat(db.count("1 = 1")).isEqualTo(1);
        assertThatThrownBy(() -> publisher.enqueue(context, db.table, message(UUID.randomUUID())))
                .isInstanceOf(TransactionStateException.class);
    }

    @Test
    void events_are_counted_when_their_transaction_commits_and_only_those_that_are_new() {
        List<String> counted = new ArrayList<>();
        MetricsExporter exporter = new Node.Counts() {
            @Override
            public void recordEnqueued(String eventType) {
                counted.add(eventType);
                throw new IllegalStateException("harms nobody");
            }
        };
        OutboxPublisher publisher =
                new OutboxPublisher().countedBy(db.table, exporter).withTrace(() -> null);
        ThreadLocalTxContext context = new ThreadLocalTxContext();
        JdbcTransactionManager transactions = new JdbcTransactionManager(db.dataSource::getConnection, context);
        UUID eventId = UUID.randomUUID();
        try (JdbcTransactionManager.Transaction transaction = transactions.begin()) {
            publisher.enqueue(context, db.table, message(UUID.randomUUID()));
            transaction.rollback();
        }
        try (JdbcTransactionManager.Transaction transaction = transactions.begin()) {
            publisher.enqueue(context, db.table, message(eventId));
            publisher.enqueue(context, db.table, message(eventId));
            assertThat(counted).isEmpty();
            transaction.commit();
        }

        assertThat(counted).containsExactly(ModuleTable.TOPIC);
    }

    @Test
    void each_table_is_counted_by_its_own_exporter() {
        ModuleTable other = new ModuleTable("public.hrm_outbox", 25);
        OutboxPublisher publisher = new OutboxPublisher().countedBy(db.table, new Node.Counts() {
            @Override
            public void recordEnqueued(String eventType) {
                throw new AssertionError("Another table was counted");
            }
        });
        List<String> counted = new ArrayList<>();
        ThreadLocalTxContext context = new ThreadLocalTxContext();
        JdbcTransactionManager transactions = new JdbcTransactionManager(other.dataSource::getConnection, context);
        try (JdbcTransactionManager.Transaction transaction = transactions.begin()) {
            publisher
                    .countedBy(other.table, new Node.Counts() {
                        @Override
                        public void recordEnqueued(String eventType) {
                            counted.add(eventType);
                        }
                    })
                    .enqueue(context, other.table, message(UUID.randomUUID()));
            transaction.commit();
        }

        assertThat(counted).containsExactly(ModuleTable.TOPIC);
    }

    @Test
    void a_tracer_that_fails_does_not_fail_the_write() throws SQLException {
        LayoutSchema.addTrace(db.dataSource, db.store);
        OutboxPublisher publisher = new OutboxPublisher().withTrace(() -> {
            throw new IllegalStateException("no tracer");
        });

        committed(publisher, message(UUID.randomUUID()));

        assertThat(db.count("traceparent IS NULL")).isEqualTo(1);
    }

    @Test
    void a_topic_that_breaks_the_rule_is_refused_with_the_rule() {
        assertThatThrownBy(() -> new OutboxMessage(ModuleTable.TENANT, "Org.Created", UUID.randomUUID(), "{}"))
                .hasMessageContaining("<module>.<aggregate>.<event>.vN");
    }

    @Test
    void a_connection_in_auto_commit_mode_is_refused() throws SQLException {
        OutboxPublisher publisher = new OutboxPublisher();
        try (Connection connection = db.dataSource.getConnection()) {
            assertThatThrownBy(() -> publisher.enqueue(connection, db.table, message(UUID.randomUUID())))
                    .hasMessageContaining("auto-commit");
        }
        assertThat(db.count("1 = 1")).isZero();
    }

    // ---- delivery ----

    @Test
    void rows_of_any_writer_are_delivered_with_what_is_known_about_them() {
        UUID eventId = db.insert("{\"name\": \"Acme\"}");
        relay(message -> {}, settings -> {}).start();

        await().until(() -> db.row(eventId).published());
        DispatchedMessage message = delivered.get(0);
        assertThat(message.payload()).isEqualTo("{\"name\": \"Acme\"}");
        assertThat(message.meta())
                .isEqualTo(new Meta(
                        db.table,
                        ModuleTable.TENANT.toString(),
                        ModuleTable.TOPIC,
                        eventId.toString(),
                        1L,
                        1,
                        null,
                        null));
        assertThat(db.row(eventId)).isEqualTo(new ModuleTable.Row(true, 0, false, null));
    }

    @Test
    void the_trace_of_the_writer_reaches_the_dispatcher_as_it_was() throws SQLException {
        LayoutSchema.addTrace(db.dataSource, db.store);
        LayoutSchema.addTrace(db.dataSource, db.store); // a second call is harmless
        String parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        OutboxPublisher publisher =
                new OutboxPublisher().withTrace(() -> new TraceContext(parent, "rojo=00f067aa0ba902b7"));
        committed(publisher, message(UUID.randomUUID()));
        relay(message -> {}, settings -> {}).start();

        await().until(() -> !delivered.isEmpty());
        assertThat(delivered.get(0).meta().traceParent()).isEqualTo(parent);
        assertThat(delivered.get(0).meta().traceState()).isEqualTo("rojo=00f067aa0ba902b7");
    }

    @Test
    void two_claimers_never_get_the_same_event() throws Exception {
        for (int i = 0; i < 300; i++) {
            db.insert("{}");
        }
        LayoutEventStore other = db.store(25);
        CyclicBarrier barrier = new CyclicBarrier(2);
        List<String> claimed = new CopyOnWriteArrayList<>();
        List<Thread> threads = List.of(db.store, other).stream()
                .map(store -> new Thread(() -> {
                    try {
                        barrier.await(10, TimeUnit.SECONDS);
                        for (int i = 0; i < 200; i++) {
                            claim(store, "claim" + System.identityHashCode(store) + "/" + i, Duration.ofMinutes(1), 5)
                                    .forEach(event -> claimed.add(event.event().eventId()));
                        }
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }))
                .toList();
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join(60_000);
        }

        assertThat(claimed).hasSize(300).doesNotHaveDuplicates();
    }

    @Test
    void an_event_of_a_worker_that_died_is_taken_when_its_lease_is_over_and_not_before() throws SQLException {
        UUID eventId = db.insert("{}");
        LayoutEventStore dead = db.store(25);
        assertThat(claim(dead, "dead", Duration.ofSeconds(60), 10)).hasSize(1);
        Relay relay = relay(message -> {}, settings -> {});

        relay.poll();
        assertThat(db.row(eventId).locked()).isTrue();
        db.execute("UPDATE " + db.table + " SET locked_at = locked_at - interval '61 seconds'");
        relay.poll();

        await().until(() -> db.row(eventId).published());
        assertThat(delivered).hasSize(1);
    }

    @Test
    void a_worker_that_stood_still_changes_nothing_that_another_took_over() throws SQLException {
        UUID eventId = db.insert("{}");
        LayoutEventStore still = db.store(25);
        assertThat(claim(still, "still", Duration.ofSeconds(60), 10)).hasSize(1);
        LayoutEventStore other = db.store(25);
        List<ClaimedEvent> taken = claim(other, "other", Duration.ZERO, 10); // for this call the lease has expired
        assertThat(taken).hasSize(1);
        assertThat(taken.get(0).suspect()).isTrue();

        List<String> ids = List.of(eventId.toString());
        inTransaction(connection -> {
            Instant now = still.now(connection);
            assertThat(still.setAttempts(connection, "still", ids.get(0), 1)).isFalse();
            assertThat(still.renew(connection, "still", ids, now)).isEmpty();
            assertThat(still.release(connection, "still", ids)).isZero();
            assertThat(still.mark(connection, List.of(Mark.done(ids.get(0), "still")), now))
                    .isEmpty();
        });

        assertThat(db.row(eventId)).isEqualTo(new ModuleTable.Row(false, 0, true, null));
        inTransaction(connection -> assertThat(
                        other.mark(connection, List.of(Mark.done(ids.get(0), "other")), other.now(connection)))
                .hasSize(1));
        assertThat(db.row(eventId).published()).isTrue();
    }

    @Test
    void the_last_recorded_run_that_is_given_back_leaves_the_event_pending() throws SQLException {
        db = new ModuleTable("public.org_outbox", 2);
        UUID eventId = db.insert("{}");
        db.execute("UPDATE " + db.table + " SET attempts = 1");
        assertThat(claim(db.store, "ours", Duration.ofSeconds(60), 10)).hasSize(1);

        inTransaction(connection -> {
            assertThat(db.store.setAttempts(connection, "ours", eventId.toString(), 1))
                    .isTrue();
            assertThat(db.store.release(connection, "ours", List.of(eventId.toString())))
                    .isEqualTo(1);
        });

        assertThat(claim(db.store, "again", Duration.ofSeconds(60), 10)).hasSize(1);
    }

    @Test
    void an_event_whose_last_recorded_run_ended_with_its_process_is_dead_with_a_reason() {
        UUID eventId = db.insert("{}");
        db.execute("UPDATE " + db.table + " SET attempts = 25, locked_at = now() - interval '61 seconds'");

        relay(message -> {}, settings -> {}).poll();

        assertThat(delivered).isEmpty();
        assertThat(db.row(eventId).locked()).isFalse();
        assertThat(db.row(eventId).lastError()).contains("The process ended");
    }

    @Test
    void a_failure_is_tried_again_later_and_at_last_the_event_is_dead_and_stays() {
        db = new ModuleTable("public.org_outbox", 3);
        UUID eventId = db.insert("{}");
        relay(
                        message -> {
                            throw new IllegalStateException("refused");
                        },
                        settings -> {})
                .start();

        await().until(() -> db.row(eventId).attempts() == 3);
        await().until(() -> !db.row(eventId).locked());
        assertThat(db.row(eventId))
                .isEqualTo(new ModuleTable.Row(false, 3, false, "java.lang.IllegalStateException: refused"));
        assertThat(delivered).extracting(message -> message.meta().attempts()).containsExactly(1, 2, 3);
        relays.get(0).poll();
        assertThat(delivered).hasSize(3);
    }

    @Test
    void a_failed_event_waits_for_its_backoff() {
        UUID eventId = db.insert("{}");
        Relay relay = relay(
                message -> {
                    throw new IllegalStateException("refused");
                },
                settings -> settings.retryPolicy(attempts -> 3_600_000));

        relay.poll();
        await().until(() -> db.row(eventId).attempts() == 1 && !db.row(eventId).locked());
        relay.poll();

        assertThat(delivered).hasSize(1);
        assertThat(db.count("available_at > now() + interval '59 minutes'")).isEqualTo(1);
    }

    @Test
    void a_poison_event_does_not_hold_up_the_others_however_it_fails() {
        db = new ModuleTable("public.org_outbox", 2);
        UUID throwing = db.insert("{\"how\": \"throw\"}");
        UUID error = db.insert("{\"how\": \"error\"}");
        UUID hanging = db.insert("{\"how\": \"hang\"}");
        List<UUID> good = IntStream.range(0, 20)
                .mapToObj(i -> db.insert("{\"n\": " + i + "}"))
                .toList();
        CountDownLatch never = new CountDownLatch(1);
        relay(
                        message -> {
                            if (message.payload().contains("throw")) {
                                throw new IllegalStateException("poison");
                            }
                            if (message.payload().contains("error")) {
                                throw new StackOverflowError("poison");
                            }
                            if (message.payload().contains("hang")) {
                                never.await(60, TimeUnit.SECONDS);
                            }
                        },
                        settings -> settings.dispatchTimeout(Duration.ofMillis(300)))
                .start();

        good.forEach(eventId -> await().until(() -> db.row(eventId).published()));
        for (UUID poison : List.of(throwing, error, hanging)) {
            await().until(() ->
                    db.row(poison).attempts() == 2 && !db.row(poison).locked());
            assertThat(db.row(poison).published()).isFalse();
        }
        UUID later = db.insert("{}");
        await().until(() -> db.row(later).published());
    }

    @Test
    void a_failed_delivery_is_logged_with_all_that_identifies_the_event_and_without_the_payload() {
        UUID eventId = db.insert("{\"iban\": \"DE89370400440532013000\"}");
        try (LogLines log = LogLines.of("outbox.dispatch.FailureLog")) {
            relay(
                            message -> {
                                throw new IllegalStateException("cannot book " + message.payload());
                            },
                            settings -> settings.retryPolicy(attempts -> 60_000))
                    .start();
            await().until(() -> db.row(eventId).attempts() == 1);

            assertThat(log.lines())
                    .singleElement()
                    .satisfies(line -> assertThat(line)
                            .contains(
                                    "table=public.org_outbox",
                                    "topic=" + ModuleTable.TOPIC,
                                    "event_id=" + eventId,
                                    "tenant_id=" + ModuleTable.TENANT,
                                    "sequence=1",
                                    "attempts=1",
                                    "cannot book")
                            .doesNotContain("DE89370400440532013000"));
        }
    }

    @Test
    void the_last_error_is_cut_on_a_character_and_never_has_the_payload() {
        db = new ModuleTable("public.org_outbox", 1);
        String secret = "{\"card\": \"4111 1111 1111 1111\", \"holder\": \"Müller\"}";
        UUID eventId = db.insert(secret);
        relay(
                        message -> {
                            throw new IllegalStateException("Cannot send " + message.payload() + " nor "
                                    + message.payload().substring(3, 30) + "€".repeat(2000));
                        },
                        settings -> {})
                .start();

        await().until(() -> db.row(eventId).lastError() != null);
        String error = Objects.requireNonNull(db.row(eventId).lastError());
        assertThat(error)
                .startsWith("java.lang.IllegalStateException: Cannot send [payload] nor [payload]€€€")
                .doesNotContain("4111", "Müller")
                .endsWith("€");
        assertThat(error.getBytes(StandardCharsets.UTF_8)).hasSizeBetween(2046, 2048);
    }

    @Test
    void several_tables_are_delivered_in_one_process() {
        ModuleTable other = new ModuleTable("public.hrm_outbox", 25);
        UUID here = db.insert("{}");
        UUID there = other.insert("{}");
        relay(message -> {}, settings -> {}).start();
        try (Relay second = Relay.builder()
                .connectionProvider(other.dataSource::getConnection)
                .eventStore(other.store)
                .dispatcher(delivered::add)
                .build()) {
            second.start();

            await().until(() -> db.row(here).published() && other.row(there).published());
        }
        assertThat(delivered)
                .extracting(message -> message.meta().table())
                .containsExactlyInAnyOrder("public.org_outbox", "public.hrm_outbox");
    }

    // ---- the lead ----

    @Test
    void only_the_leader_delivers_and_who_takes_the_lead_takes_what_was_claimed() throws SQLException {
        List<UUID> events = IntStream.range(0, 10)
                .mapToObj(i -> db.insert("{\"n\": " + i + "}"))
                .toList();
        assertThat(claim(db.store(25), "dead leader", Duration.ofSeconds(60), 5))
                .hasSize(5);
        TestLead lead = new TestLead();
        Relay standby = relay(message -> {}, settings -> settings.leadership(lead));

        standby.poll();
        assertThat(delivered).isEmpty();
        lead.offered = true;
        standby.start();

        events.forEach(eventId -> await().until(() -> db.row(eventId).published()));
        assertThat(delivered)
                .extracting(message -> message.meta().sequence())
                .containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L);
    }

    @Test
    void who_loses_the_lead_starts_nothing_more_and_gives_back_what_it_has() throws Exception {
        IntStream.range(0, 10).forEach(i -> db.insert("{\"n\": " + i + "}"));
        TestLead lead = new TestLead();
        lead.offered = true;
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Relay relay = relay(
                message -> {
                    running.countDown();
                    goOn.await(30, TimeUnit.SECONDS);
                },
                settings -> settings.leadership(lead));

        relay.start();
        assertThat(running.await(10, TimeUnit.SECONDS)).isTrue();
        lead.offered = false;
        lead.lost();
        goOn.countDown();

        await().until(() -> db.count("locked_at IS NOT NULL") == 0);
        assertThat(delivered).hasSize(1);
        assertThat(db.count("published_at IS NOT NULL"))
                .as("the next leader decides")
                .isZero();
        assertThat(db.count("attempts > 0")).isZero();
    }

    // ---- purge ----

    @Test
    void a_purge_deletes_what_was_published_long_ago_and_nothing_else() {
        UUID old = db.insert("{}");
        UUID young = db.insert("{}");
        UUID pending = db.insert("{}");
        UUID dead = db.insert("{}");
        String set = "UPDATE " + db.table + " SET ";
        db.execute(set + "published_at = now() - interval '8 days' WHERE event_id = ?", old);
        db.execute(set + "published_at = now() - interval '6 days' WHERE event_id = ?", young);
        db.execute(
                set
                        + "created_at = now() - interval '80 days', available_at = now() + interval '1 day' WHERE event_id = ?",
                pending);
        db.execute(set + "created_at = now() - interval '80 days', attempts = 25 WHERE event_id = ?", dead);

        relay(message -> {}, settings -> settings.retention(Duration.ofDays(7))).start();

        await().until(() -> db.count("1 = 1") == 3);
        assertThat(db.count("event_id = '" + old + "'")).isZero();
        relay(db.store(25), message -> {}, settings -> settings.deadRetention(Duration.ofDays(30)))
                .start();
        await().until(() -> db.count("1 = 1") == 2);
        assertThat(db.count("event_id = '" + dead + "'")).isZero();
    }

    // ---- refusals ----

    @Test
    void a_lock_time_that_is_rounded_is_refused_before_anything_is_claimed() {
        db.insert("{}");
        db.execute("ALTER TABLE " + db.table + " ALTER COLUMN locked_at TYPE timestamptz(0)");

        assertThatThrownBy(() -> claim(db.store, "ours", Duration.ofSeconds(60), 10))
                .hasMessageContaining("microseconds of locked_at");
        assertThat(db.count("locked_at IS NOT NULL")).isZero();
    }

    @Test
    void another_number_of_attempts_than_that_of_the_layout_is_refused() {
        AtomicInteger none = new AtomicInteger();
        assertThatThrownBy(() -> relay(message -> none.incrementAndGet(), settings -> settings.maxAttempts(10)))
                .hasMessageContaining("layout")
                .hasMessageContaining("25");
    }

    // ---- helpers ----

    private static OutboxMessage message(UUID eventId) {
        return new OutboxMessage(ModuleTable.TENANT, ModuleTable.TOPIC, eventId, "{\"a\": 1}");
    }

    private long committed(OutboxPublisher publisher, OutboxMessage message) throws SQLException {
        try (Connection connection = db.dataSource.getConnection()) {
            connection.setAutoCommit(false);
            long sequence = publisher.enqueue(connection, db.table, message);
            connection.commit();
            return sequence;
        }
    }

    private void inTransaction(StoreFixture.Work work) throws SQLException {
        try (Connection connection = db.dataSource.getConnection()) {
            connection.setAutoCommit(false);
            work.on(connection);
            connection.commit();
        }
    }

    private List<ClaimedEvent> claim(LayoutEventStore store, String token, Duration lease, int limit)
            throws SQLException {
        try (Connection connection = db.dataSource.getConnection()) {
            connection.setAutoCommit(false);
            Instant now = store.now(connection);
            List<ClaimedEvent> claimed = store.claim(
                    connection, Claim.startingNow(token, lease), ClaimRequest.of(now, now.minus(lease), limit));
            connection.commit();
            return claimed;
        }
    }
}
