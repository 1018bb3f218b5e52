package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutboxException;
import outbox.inbox.IdempotentListener;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.memory.MemoryEventStore;
import outbox.memory.MemoryInbox;
import outbox.memory.MemoryOutbox;
import outbox.reconcile.Found;
import outbox.reconcile.ReconcileJob;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.Reconciler;
import outbox.registry.DefaultListenerRegistry;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Events in memory, with facts and effects in a database: the use case of reconciliation. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryStoreReconcileTest {

    private final ThreadLocalTxContext tx = new ThreadLocalTxContext();
    private HikariDataSource pool;
    private Enrollments enrollments;

    @BeforeEach
    void createTables() {
        pool = Databases.newPool(Databases.H2.url(), 6, true);
        enrollments = new Enrollments(pool);
        enrollments.create();
    }

    @AfterEach
    void closePool() {
        pool.close();
    }

    private Reconciler.Builder builder(MemoryEventStore store, ReconcileJob job) {
        return Reconciler.builder()
                .connectionProvider(store.connections())
                .eventStore(store)
                .lookEvery(Duration.ofMillis(50))
                .job(job);
    }

    private static ReconcileRun run(Reconciler reconciler) {
        return reconciler.run(Enrollments.JOB).orElseThrow();
    }

    private long notifications() {
        return enrollments.ask("SELECT COUNT(*) FROM notification");
    }

    @Test
    void events_that_are_missing_are_written_once_and_again_after_they_were_lost() {
        enrollments.add(1, 25, Instant.now());
        MemoryEventStore store = new MemoryEventStore(tx);
        MemoryEventStore afterRestart = new MemoryEventStore(tx);

        try (Reconciler reconciler = builder(store, enrollments.job().build()).build();
                Reconciler restarted =
                        builder(afterRestart, enrollments.job().build()).build()) {
            assertThat(run(reconciler).fixed()).isEqualTo(25);
            ReconcileRun second = run(reconciler);
            assertThat(second.found()).isEqualTo(25);
            assertThat(second.fixed()).isZero();

            assertThat(run(restarted).fixed()).isEqualTo(25);
        }

        assertThat(store.pending()).isEqualTo(25);
        assertThat(afterRestart.pending()).isEqualTo(25);
    }

    @Test
    void connections_of_the_database_do_as_well() {
        enrollments.add(1, 25, Instant.now());
        MemoryEventStore store = new MemoryEventStore(tx);

        try (Reconciler reconciler = builder(store, enrollments.job().build())
                .connectionProvider(pool::getConnection)
                .build()) {
            assertThat(run(reconciler).fixed()).isEqualTo(25);
            assertThat(run(reconciler).fixed()).isZero();
        }

        assertThat(store.pending()).isEqualTo(25);
    }

    @Test
    void an_event_on_its_way_one_that_died_and_one_that_was_delivered_are_not_written_again() throws Exception {
        enrollments.add(1, 3, Instant.now());
        MemoryEventStore store = new MemoryEventStore(tx);

        try (Reconciler reconciler = builder(store, enrollments.job().build()).build();
                Connection connection = store.connections().getConnection()) {
            store.insertNew(
                    connection,
                    EventEnvelope.builder(Enrollments.TYPE)
                            .dedupKey(Enrollments.key(1))
                            .payloadJson("{}")
                            .build());
            assertThat(run(reconciler).fixed()).isEqualTo(2);
            List<String> written =
                    store.pollPending(connection, Instant.now().plusSeconds(1), Duration.ZERO, 10).stream()
                            .filter(row -> row.aggregateId() != null)
                            .map(row -> row.eventId())
                            .toList();
            store.markDead(connection, written.get(0), "refused");
            store.markDone(connection, written.get(1));

            assertThat(run(reconciler).fixed()).isZero();
        }

        assertThat(store.pending()).isEqualTo(1);
    }

    @Test
    void a_store_without_room_fails_the_run_and_the_next_one_goes_on() {
        enrollments.add(1, 25, Instant.now());
        MemoryEventStore store =
                MemoryEventStore.builder().joining(tx).maxEvents(15).build();

        try (Reconciler reconciler = builder(store, enrollments.job().build()).build()) {
            ReconcileRun first = run(reconciler);
            assertThat(first.error()).contains("MemoryFullException");
            assertThat(first.fixed()).isEqualTo(10);
            deliverAll(store);

            ReconcileRun second = run(reconciler);
            assertThat(second.error()).isNull();
            assertThat(second.fixed()).isEqualTo(15);
        }
        deliverAll(store);
        assertThat(notifications()).isEqualTo(25);
    }

    /** Delivers all events, like a dispatcher whose store keeps no delivered events. */
    private void deliverAll(MemoryEventStore store) {
        try (Connection connection = store.connections().getConnection()) {
            store.pollPending(connection, Instant.now().plusSeconds(1), Duration.ZERO, 100)
                    .forEach(row -> {
                        enrollments.execute("INSERT INTO notification VALUES (" + row.aggregateId() + ")");
                        store.markDone(connection, row.eventId());
                    });
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Delivered events are deleted at once, and the job has no minimum age that protects events in delivery. The
     * key, the effect and the inbox prevent duplicates.
     */
    @Test
    void while_events_are_delivered_and_forgotten_none_takes_effect_twice() {
        AtomicInteger failures = new AtomicInteger();
        EventListener listener = event -> {
            if (failures.getAndIncrement() % 5 == 0) {
                throw new IllegalStateException("not yet");
            }
            enrollments.execute("INSERT INTO notification VALUES (" + event.aggregateId() + ")");
        };
        DefaultListenerRegistry listeners = new DefaultListenerRegistry()
                .register(
                        "enrollment",
                        Enrollments.TYPE,
                        new IdempotentListener(new MemoryInbox(), "notification", listener));
        int facts = 400;

        try (MemoryOutbox outbox = MemoryOutbox.builder(listeners)
                        .joining(tx)
                        .interval(Duration.ofMillis(20))
                        .backoff(List.of(Duration.ofMillis(20)))
                        .maxAttempts(50)
                        .build();
                Reconciler reconciler = builder(
                                outbox.store(),
                                enrollments.job().minimumAge(Duration.ZERO).build())
                        .build()) {
            outbox.start();
            Thread runs = new Thread(() -> {
                while (notifications() < facts && !Thread.currentThread().isInterrupted()) {
                    reconciler.run(Enrollments.JOB);
                }
            });
            runs.start();
            for (int id = 1; id <= facts; id++) {
                enrol(outbox, id, id % 3 != 0);
            }
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> enrollments.ask("SELECT COUNT(DISTINCT enrollment_id) FROM notification") == facts);
            await().atMost(Duration.ofSeconds(10)).until(() -> !runs.isAlive());
            run(reconciler);
            await().atMost(Duration.ofSeconds(10)).until(() -> outbox.store().pending() == 0);
        }

        assertThat(notifications()).isEqualTo(facts);
    }

    /** Adds a fact. If {@code writes} is false, its event is lost. */
    private void enrol(MemoryOutbox outbox, int id, boolean writes) {
        try (Transaction enrolling = new JdbcTransactionManager(pool::getConnection, tx).begin();
                var insert = enrolling.connection().createStatement()) {
            insert.execute("INSERT INTO enrollment VALUES (" + id + ", "
                    + Instant.now().minusSeconds(60).toEpochMilli() + ")");
            if (writes) {
                outbox.writer()
                        .write(EventEnvelope.builder(Enrollments.TYPE)
                                .aggregateType("enrollment")
                                .aggregateId(Integer.toString(id))
                                .dedupKey(Enrollments.key(id))
                                .payloadJson("{}")
                                .build());
            }
            enrolling.commit();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void an_event_that_is_delivered_after_the_second_look_is_not_written_again() throws Exception {
        enrollments.add(1, 1, Instant.now());
        MemoryEventStore store = new MemoryEventStore(tx);
        AtomicInteger looks = new AtomicInteger();
        ReconcileJob job = enrollments
                .job()
                .finder(search -> {
                    Found found = enrollments.find(search);
                    if (looks.incrementAndGet() == 2) {
                        deliverAll(store); // between this search and the write
                    }
                    return found;
                })
                .build();
        try (Connection connection = store.connections().getConnection()) {
            store.insertNew(
                    connection,
                    EventEnvelope.builder(Enrollments.TYPE)
                            .aggregateType("enrollment")
                            .aggregateId("1")
                            .dedupKey(Enrollments.key(1))
                            .payloadJson("{}")
                            .build());
        }

        try (Reconciler reconciler = builder(store, job).build()) {
            assertThat(run(reconciler).fixed()).isZero();
        }

        deliverAll(store);
        assertThat(notifications()).isEqualTo(1);
    }

    @Test
    void a_job_goes_on_after_the_database_was_away_during_its_run() {
        enrollments.add(1, 5, Instant.now());
        MemoryEventStore store = new MemoryEventStore(tx);
        AtomicBoolean away = new AtomicBoolean();
        AtomicInteger looks = new AtomicInteger();
        ReconcileJob job = enrollments
                .job()
                .finder(search -> {
                    if (looks.incrementAndGet() == 1) {
                        away.set(true);
                        throw new SQLException("connection lost", "08006");
                    }
                    return enrollments.find(search);
                })
                .build();

        try (Reconciler reconciler = builder(store, job)
                .connectionProvider(() -> {
                    if (away.get()) {
                        throw new SQLException("no database", "08001");
                    }
                    return pool.getConnection();
                })
                .build()) {
            assertThatThrownBy(() -> reconciler.run(Enrollments.JOB)).isInstanceOf(OutboxException.class);
            away.set(false);

            assertThat(run(reconciler).fixed()).isEqualTo(5);
        }
    }
}
