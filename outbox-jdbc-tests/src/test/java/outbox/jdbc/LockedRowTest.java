package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A foreign session has locked the row of an event that a node holds, and keeps the lock. Only that event may wait.
 */
@Timeout(value = 1800, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("mysql")
class LockedRowTest {

    private static final int TRIALS = Integer.getInteger("outbox.trials.locks", 1);
    private static final Duration LEASE = Duration.ofSeconds(3); // renewed after a third of it
    private static final Duration LOCKED_FOR = Duration.ofMillis(1500);
    private static final Duration SOON = Duration.ofSeconds(1);

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void a_locked_row_delays_the_outcome_of_its_own_event_only(Databases database) throws Exception {
        StoreFixture db = database.fixture();
        StoreFixture other = new StoreFixture(db.dataSource(), database.store(), db.table(), db.zonedTimes());
        for (int trial = 0; trial < TRIALS; trial++) {
            try (Node second = Node.withLease(other.dataSource(), other.store(), LEASE)) {
                trial(database, db, second);
                assertThat(second.delivered).as("taken over, trial %s", trial).isEmpty();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void so_it_does_in_a_table_by_its_description(Databases database) throws Exception {
        StoreFixture db = LayoutFixture.specification(database);
        for (int trial = 0; trial < TRIALS; trial++) {
            trial(database, db, null);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void so_it_does_in_a_table_with_text_statuses(Databases database) throws Exception {
        StoreFixture db = LayoutFixture.textStatus(database);
        for (int trial = 0; trial < TRIALS; trial++) {
            trial(database, db, null);
        }
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, names = "POSTGRES")
    void so_it_does_in_a_table_of_a_module(Databases database) throws Exception {
        StoreFixture db = LayoutFixture.module();
        for (int trial = 0; trial < TRIALS; trial++) {
            trial(database, db, null);
        }
    }

    /** The events 1 and 2 run during the whole trial, so their leases must be renewed. */
    private static void trial(Databases database, StoreFixture db, @Nullable Node second) throws Exception {
        long before = db.count("status = 1");
        List<EventEnvelope> events = events(db, 20);
        String victim = events.get(0).eventId();
        Set<String> slow = Set.of(events.get(1).eventId(), events.get(2).eventId());
        CountDownLatch locked = new CountDownLatch(1);
        CountDownLatch slowEnd = new CountDownLatch(1);
        try (Connection stranger = db.open();
                Node node = new Node(
                        db.dataSource(), db.store(), d -> d.workerCount(events.size()), p -> p.lockTimeout(LEASE))) {
            node.listener = event -> {
                if (event.eventId().equals(victim)) {
                    lock(stranger, db, victim);
                    locked.countDown();
                }
                locked.await();
                if (slow.contains(event.eventId())) {
                    slowEnd.await();
                }
            };
            db.insert(events);
            node.poller.start();
            assertThat(locked.await(30, TimeUnit.SECONDS)).isTrue();
            long start = System.nanoTime();
            if (second != null) {
                second.poller.start();
            }

            long done = before + events.size() - 1 - slow.size();
            awaitDone(db, done, "those that ran when the row was locked");
            while (since(start).compareTo(LOCKED_FOR) < 0) {
                if (second == null) {
                    db.insert(events(db, 1));
                } else {
                    // inserted with a lease, so the second node does not claim it
                    node.write(node.writer, events(db, 1).get(0));
                }
                awaitDone(db, ++done, "one written while the row was locked");
                assertThat(sessions(database, db)).isLessThanOrEqualTo(10); // the size of the pool
            }
            assertThat(node.counts.lostClaims).as("lost claims").hasValue(0);

            stranger.rollback();
            awaitDone(db, ++done, "the one whose row was locked");
            slowEnd.countDown();
            awaitDone(db, done + slow.size(), "those that ran all the while");
            assertThat(node.deliveredIds()).doesNotHaveDuplicates().hasSize((int) (done - before) + slow.size());
            assertThat(node.counts.lostClaims).as("lost claims").hasValue(0);
        } finally {
            slowEnd.countDown();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void the_outcome_of_an_event_whose_row_was_locked_past_its_lease_is_written_once_the_lock_is_gone(
            Databases database) throws Exception {
        StoreFixture db = database.fixture();
        Duration lease = Duration.ofSeconds(1);
        try (Connection stranger = db.open();
                Node node = Node.withLease(db.dataSource(), db.store(), lease)) {
            CountDownLatch locked = new CountDownLatch(1);
            node.listener = event -> {
                if (locked.getCount() > 0) {
                    lock(stranger, db, event.eventId());
                    locked.countDown();
                }
            };
            EventEnvelope victim = node.write("{}");
            node.poller.start();
            assertThat(locked.await(30, TimeUnit.SECONDS)).isTrue();
            long start = System.nanoTime();
            long done = 0;
            while (since(start).compareTo(lease.multipliedBy(2)) < 0) {
                node.write("{}");
                awaitDone(db, ++done, "one written while the row was locked");
            }

            stranger.rollback();

            awaitDone(db, done + 1, "the one whose row was locked");
            assertThat(node.deliveredIds()).doesNotHaveDuplicates().contains(victim.eventId());
        }
    }

    private static void awaitDone(StoreFixture db, long count, String which) {
        await().alias(which)
                .pollInterval(Duration.ofMillis(10))
                .atMost(SOON)
                .untilAsserted(() -> assertThat(db.count("status = 1")).isEqualTo(count));
    }

    private static Duration since(long nanos) {
        return Duration.ofNanos(System.nanoTime() - nanos);
    }

    private static List<EventEnvelope> events(StoreFixture db, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> EventEnvelope.builder("org.tested.v1")
                        .eventId(UUID.randomUUID().toString())
                        // this table requires an aggregate id
                        .aggregateId(db.table().equals("outbox_events") ? "1" : null)
                        .tenantId(isModule(db) ? ModuleTable.TENANT.toString() : null)
                        .payloadJson("{}")
                        .build())
                .toList();
    }

    private static boolean isModule(StoreFixture db) {
        return db.table().endsWith("org_outbox");
    }

    /** Locks the row by its primary key, so that no other row is locked. */
    private static void lock(Connection stranger, StoreFixture db, String eventId) throws SQLException {
        String id = isModule(db) ? "CAST(? AS uuid)" : "?";
        // no gap locks, which would block inserts
        stranger.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        try (PreparedStatement select =
                stranger.prepareStatement("SELECT 1 FROM " + db.table() + " WHERE event_id = " + id + " FOR UPDATE")) {
            select.setString(1, eventId);
            try (ResultSet row = select.executeQuery()) {
                assertThat(row.next()).isTrue();
            }
        }
    }

    /** Returns the number of sessions of this database, including sessions that are no longer used. */
    private static int sessions(Databases database, StoreFixture db) {
        String sql = database == Databases.POSTGRES
                ? "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
                : "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()";
        return db.call(connection -> {
            try (Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery(sql)) {
                row.next();
                return row.getInt(1);
            }
        });
    }
}
