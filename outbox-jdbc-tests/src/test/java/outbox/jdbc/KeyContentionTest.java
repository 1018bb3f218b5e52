package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.admin.EventAdministration.Replay;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.Mark;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Business transactions write events with the same few keys, without retries, at READ COMMITTED and at REPEATABLE
 * READ, the default of MySQL and MariaDB. There must be no deadlock, and no transaction waits for one that uses no
 * key or another key.
 */
@Timeout(value = 900, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("mysql")
class KeyContentionTest {

    private static final int TRIALS = Integer.getInteger("outbox.trials.keys", 30);
    private static final int WRITERS = 4;
    private static final List<String> KEYS = List.of("a", "b", "c");
    private static final Duration LEASE = Duration.ofMinutes(5);

    private final ThreadLocalTxContext context = new ThreadLocalTxContext();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() throws InterruptedException {
        threads.shutdownNow();
        assertThat(threads.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
    }

    static Stream<Arguments> ways() {
        return Stream.of(Databases.MARIADB, Databases.MYSQL, Databases.POSTGRES)
                .flatMap(database -> Stream.of(
                        Arguments.of(database, Connection.TRANSACTION_REPEATABLE_READ),
                        Arguments.of(database, Connection.TRANSACTION_READ_COMMITTED)));
    }

    // ---- many writers ----

    @ParameterizedTest
    @MethodSource("ways")
    void no_writer_of_a_key_is_killed_while_others_write_and_outcomes_are_marked(Databases database, int isolation)
            throws Exception {
        StoreFixture db = database.fixture();
        AtomicBoolean ended = new AtomicBoolean();
        List<String> killed = new ArrayList<>();
        // refused by REPEATABLE READ of PostgreSQL; keys do not change this
        int refused = 0;
        AtomicInteger written = new AtomicInteger();
        Future<?> plain = threads.submit(() -> writePlainEvents(db, isolation, ended));
        Future<?> marks = threads.submit(() -> markEvents(db, ended));

        CyclicBarrier start = new CyclicBarrier(WRITERS);
        for (int trial = 0; trial < TRIALS; trial++) {
            List<Future<?>> writers = new ArrayList<>();
            for (int i = 0; i < WRITERS; i++) {
                Random random = new Random(1000L * trial + i);
                writers.add(threads.submit(() -> {
                    start.await(60, TimeUnit.SECONDS);
                    written.addAndGet(business(db, isolation, random));
                    return null;
                }));
            }
            for (Future<?> writer : writers) {
                try {
                    writer.get(120, TimeUnit.SECONDS);
                } catch (ExecutionException e) {
                    if (database == Databases.POSTGRES && state(e).equals("40001")) {
                        refused++;
                    } else {
                        killed.add(state(e) + " " + e.getCause());
                    }
                }
            }
            assertThat(unfinishedPerKey(db))
                    .as("most unfinished events of a key")
                    .isLessThanOrEqualTo(1);
        }
        ended.set(true);
        plain.get(60, TimeUnit.SECONDS);
        marks.get(60, TimeUnit.SECONDS);

        System.out.printf(
                "%s at %d: %d business transactions, %d killed, %d not serializable, %d events written%n",
                database, isolation, TRIALS * WRITERS, killed.size(), refused, written.get());
        assertThat(killed).isEmpty();
        assertThat(written.get()).isPositive();
    }

    /** Reads, writes one to three keys in one call, and commits. One transaction in five is rolled back instead. */
    private int business(StoreFixture db, int isolation, Random random) throws SQLException {
        OutboxWriter writer = new OutboxWriter(context, db.store());
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i <= random.nextInt(3); i++) {
            events.add(keyed(KEYS.get(random.nextInt(KEYS.size()))));
        }
        events.add(random.nextInt(events.size() + 1), plain());
        boolean commits = random.nextInt(5) > 0;
        try (Transaction tx = begin(db, isolation)) {
            look(tx.connection());
            List<String> ids = writer.writeAll(events);
            if (!commits) {
                return 0;
            }
            tx.commit();
            return (int) IntStream.range(0, ids.size())
                    .filter(i -> events.get(i).dedupKey() != null)
                    .filter(i -> ids.get(i).equals(events.get(i).eventId()))
                    .count();
        }
    }

    private void writePlainEvents(StoreFixture db, int isolation, AtomicBoolean ended) {
        OutboxWriter writer = new OutboxWriter(context, db.store());
        while (!ended.get()) {
            try (Transaction tx = begin(db, isolation)) {
                writer.writeAll(List.of(plain(), plain()));
                tx.commit();
            }
        }
    }

    /** Half of the groups are marked, and half are removed as with deleteDone. */
    private static void markEvents(StoreFixture db, AtomicBoolean ended) {
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        for (int group = 0; !ended.get(); group++) {
            Claim claim = Claim.startingNow("marker-" + group, LEASE);
            List<ClaimedEvent> claimed = db.call(connection -> {
                Instant now = store.now(connection);
                return store.claim(connection, claim, ClaimRequest.of(now, now.minus(LEASE), 20));
            });
            List<Mark> done = claimed.stream()
                    .map(event -> Mark.done(event.event().eventId(), claim.token()))
                    .toList();
            boolean removes = group % 2 == 0;
            boolean written = done.isEmpty();
            while (!written) {
                written = write(db, done, removes);
            }
        }
    }

    /** Returns false if a business transaction has locked one of the events. The engine also retries then. */
    private static boolean write(StoreFixture db, List<Mark> done, boolean removes) {
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        try {
            db.inTransaction(connection -> {
                if (removes) {
                    store.remove(connection, done);
                } else {
                    store.mark(connection, done, store.now(connection));
                }
            });
            return true;
        } catch (EventStoreException e) {
            assertThat(state(e)).isIn("55P03", "HY000", "40001");
            return false;
        }
    }

    private static int unfinishedPerKey(StoreFixture db) {
        return db.call(connection -> ((AbstractJdbcEventStore) db.store())
                        .query(
                                connection,
                                "SELECT COUNT(*) FROM outbox_event WHERE status IN (0, 2) AND dedup_key IS NOT NULL"
                                        + " GROUP BY dedup_key",
                                binder -> {},
                                row -> row.getInt(1))
                        .stream()
                        .mapToInt(count -> count)
                        .max()
                        .orElse(0));
    }

    // ---- which transaction waits for which ----

    @ParameterizedTest
    @MethodSource("ways")
    void nobody_waits_for_an_open_transaction_that_wrote_another_key(Databases database, int isolation)
            throws Exception {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        db.insert(keyed("m"));

        try (Transaction open = begin(db, isolation)) {
            look(open.connection());
            EventEnvelope event = keyed("new");
            assertThat(writer.write(event)).isEqualTo(event.eventId());

            assertOthersGoOn(db, database, isolation);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void nobody_waits_for_an_open_transaction_that_found_its_key_taken(Databases database, int isolation)
            throws Exception {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        EventEnvelope first = keyed("m");
        db.insert(first);

        try (Transaction open = begin(db, isolation)) {
            look(open.connection());
            assertThat(writer.write(keyed("m"))).isEqualTo(first.eventId());

            assertOthersGoOn(db, database, isolation);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void nobody_waits_for_an_open_transaction_that_took_the_key_of_a_delivered_event(Databases database, int isolation)
            throws Exception {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        EventEnvelope marked = keyed("marked");
        EventEnvelope removed = keyed("removed");
        db.insert(List.of(marked, removed));
        deliver(db, marked, false);

        try (Transaction open = begin(db, isolation)) {
            look(open.connection());
            if (database != Databases.POSTGRES) { // PostgreSQL would report a serialization failure
                deliver(db, removed, true);
            }
            for (String key : List.of("marked", "removed")) {
                if (database != Databases.POSTGRES || key.equals("marked")) {
                    EventEnvelope event = keyed(key);
                    assertThat(writer.write(event)).isEqualTo(event.eventId());
                }
            }

            assertOthersGoOn(db, database, isolation);
        }
    }

    /** Runs on another thread, because a transaction context belongs to one thread. */
    private void assertOthersGoOn(StoreFixture db, Databases database, int isolation) throws Exception {
        threads.submit(() -> {
                    OutboxWriter writer = new OutboxWriter(context, db.store());
                    for (int i = 0; i < 20; i++) {
                        try (Transaction tx = begin(db, isolation)) {
                            limitWaits(tx.connection(), database);
                            EventEnvelope other = keyed("other " + i);
                            assertThat(writer.writeAll(List.of(plain(), other))).contains(other.eventId());
                            tx.commit();
                        }
                    }
                    return null;
                })
                .get(60, TimeUnit.SECONDS);
    }

    private static void limitWaits(Connection connection, Databases database) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                    database == Databases.POSTGRES
                            ? "SET LOCAL lock_timeout = '2s'"
                            : "SET innodb_lock_wait_timeout = 2");
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void after_a_rollback_one_of_those_who_wait_for_the_key_takes_it_and_the_others_find_it(
            Databases database, int isolation) throws Exception {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        List<EventEnvelope> waiting = List.of(keyed("new"), keyed("new"), keyed("new"));
        List<Future<String>> answers = new ArrayList<>();

        try (Transaction first = begin(db, isolation)) {
            look(first.connection());
            EventEnvelope event = keyed("new");
            assertThat(writer.write(event)).isEqualTo(event.eventId());
            for (EventEnvelope next : waiting) {
                answers.add(threads.submit(() -> {
                    try (Transaction tx = begin(db, isolation)) {
                        String id = writer.write(next);
                        tx.commit();
                        return id;
                    }
                }));
            }
            await().atMost(Duration.ofSeconds(30)).until(() -> lockWaits(db, database) == waiting.size());
        } // rolls back

        List<String> ids = new ArrayList<>();
        for (Future<String> answer : answers) {
            try {
                ids.add(answer.get(60, TimeUnit.SECONDS));
            } catch (ExecutionException e) {
                boolean notSerializable = database == Databases.POSTGRES
                        && isolation == Connection.TRANSACTION_REPEATABLE_READ
                        && state(e).equals("40001");
                assertThat(notSerializable).as("%s", e).isTrue();
            }
        }
        assertThat(ids).isNotEmpty().containsOnly(ids.get(0));
        assertThat(waiting).extracting(EventEnvelope::eventId).contains(ids.get(0));
        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"MARIADB, true", "MARIADB, false", "MYSQL, true", "MYSQL, false"})
    void the_key_of_a_dead_event_is_taken_although_the_event_is_locked(Databases database, boolean deletes)
            throws Exception {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        EventEnvelope dead = keyed("k");
        db.insert(dead);
        kill(db, dead);
        EventEnvelope next = keyed("k");

        Future<String> written;
        try (Connection holder = db.open();
                Statement statement = holder.createStatement()) {
            statement.executeQuery("SELECT 1 FROM outbox_event WHERE status = 3 FOR UPDATE");
            written = threads.submit(() -> {
                try (Transaction tx = begin(db, Connection.TRANSACTION_REPEATABLE_READ)) {
                    String id = writer.write(next);
                    tx.commit();
                    return id;
                }
            });
            await().atMost(Duration.ofSeconds(30)).until(() -> written.isDone() || lockWaits(db, database) == 1);
            if (deletes) {
                statement.execute("DELETE FROM outbox_event WHERE status = 3");
            }
            holder.commit();
        }

        assertThat(written.get(60, TimeUnit.SECONDS)).isEqualTo(next.eventId());
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void the_key_of_a_dead_event_is_taken_although_the_event_was_purged_after_the_snapshot(Databases database)
            throws SQLException {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        EventEnvelope dead = keyed("k");
        db.insert(dead);
        kill(db, dead);
        EventEnvelope next = keyed("k");

        try (Transaction open = begin(db, Connection.TRANSACTION_REPEATABLE_READ)) {
            look(open.connection());
            db.inTransaction(
                    connection -> ((AbstractJdbcEventStore) db.store()).delete(connection, List.of(dead.eventId())));
            assertThat(writer.write(next)).isEqualTo(next.eventId());
            open.commit();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void a_replay_that_waits_for_a_key_holds_no_event(Databases database) throws Exception {
        StoreFixture db = database.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        OutboxWriter writer = new OutboxWriter(context, store);
        EventEnvelope dead = keyed("k");
        db.insert(dead);
        kill(db, dead);
        String sameSlot = IntStream.range(0, Integer.MAX_VALUE)
                .mapToObj(String::valueOf)
                .filter(key -> store.keys().placeOf(key) == store.keys().placeOf("k"))
                .findFirst()
                .orElseThrow();
        EventEnvelope next = keyed("k");

        Future<Integer> replayed;
        try (Transaction open = begin(db, Connection.TRANSACTION_REPEATABLE_READ)) {
            writer.write(keyed(sameSlot));
            replayed = threads.submit(() -> db.<Integer>call(connection ->
                    store.replay(connection, List.of(dead.eventId()), Replay.dead("request", store.now(connection)))));
            await().atMost(Duration.ofSeconds(30)).until(() -> lockWaits(db, database) == 1);
            assertThat(writer.write(next)).isEqualTo(next.eventId());
            open.commit();
        }

        assertThat(replayed.get(60, TimeUnit.SECONDS)).isZero();
    }

    private static int lockWaits(StoreFixture db, Databases database) {
        String sql = database == Databases.POSTGRES
                ? "SELECT COUNT(*) FROM pg_stat_activity"
                        + " WHERE wait_event_type = 'Lock' AND datname = current_database()"
                : "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
        return db.call(connection -> ((AbstractJdbcEventStore) db.store())
                .query(connection, sql, binder -> {}, row -> row.getInt(1))
                .get(0));
    }

    // ---- outcomes ----

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL", "POSTGRES", "H2"})
    void at_read_committed_an_event_is_marked_while_a_transaction_that_found_its_key_is_open(Databases database)
            throws SQLException {
        StoreFixture db = database.fixture();
        OutboxWriter writer = new OutboxWriter(context, db.store());
        EventEnvelope first = keyed("m");
        db.insert(first);

        try (Transaction open = begin(db, Connection.TRANSACTION_READ_COMMITTED)) {
            assertThat(writer.write(keyed("m"))).isEqualTo(first.eventId());
            deliver(db, first, false);
            EventEnvelope second = keyed("m");
            assertThat(writer.write(second)).isEqualTo(second.eventId());
            open.commit();
        }
    }

    // ---- helpers ----

    private static EventEnvelope keyed(String key) {
        return EventEnvelope.builder("T").payloadJson("{}").dedupKey(key).build();
    }

    private static EventEnvelope plain() {
        return EventEnvelope.ofJson("T", "{}");
    }

    private Transaction begin(StoreFixture db, int isolation) {
        return new JdbcTransactionManager(
                        () -> {
                            Connection connection = db.dataSource().getConnection();
                            connection.setTransactionIsolation(isolation);
                            return connection;
                        },
                        context)
                .begin();
    }

    /** Reads a row, as business code does, so that the transaction has a snapshot. */
    private static void look(Connection connection) throws SQLException {
        try (Statement select = connection.createStatement();
                ResultSet row = select.executeQuery("SELECT COUNT(*) FROM outbox_audit")) {
            assertThat(row.next()).isTrue();
        }
    }

    private static void deliver(StoreFixture db, EventEnvelope event, boolean removes) {
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        Claim claim = new Claim("claim " + event.eventId(), Long.MAX_VALUE);
        db.inTransaction(connection -> {
            Instant now = store.now(connection);
            assertThat(store.claimOne(connection, claim, event.eventId(), now, now.minus(LEASE), null))
                    .isPresent();
            List<Mark> done = List.of(Mark.done(event.eventId(), claim.token()));
            assertThat(removes ? store.remove(connection, done) : store.mark(connection, done, now))
                    .containsExactly(event.eventId());
        });
    }

    private static void kill(StoreFixture db, EventEnvelope event) {
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        Claim claim = new Claim("claim " + event.eventId(), Long.MAX_VALUE);
        db.inTransaction(connection -> {
            Instant now = store.now(connection);
            assertThat(store.claimOne(connection, claim, event.eventId(), now, now.minus(LEASE), null))
                    .isPresent();
            Mark dead = Mark.dead(event.eventId(), claim.token(), true, "failed");
            assertThat(store.mark(connection, List.of(dead), now)).containsExactly(event.eventId());
        });
    }

    private static String state(Throwable e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException sql && sql.getSQLState() != null) {
                return sql.getSQLState();
            }
        }
        return "";
    }
}
