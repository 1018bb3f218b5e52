package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.FaultyDataSource;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Contract tests for a leadership, on every database. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class LeadershipContract {

    private static final Duration TERM = Duration.ofMillis(500); // longer than a busy machine pauses a process
    // for the longest term that is allowed with it
    private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);
    private static final Duration SLOW_MACHINE = Duration.ofMillis(900); // less than another poll interval
    private static final String TABLE = AbstractJdbcEventStore.DEFAULT_TABLE;

    private final Databases database;
    private final List<JdbcLeadership> open = new ArrayList<>();
    private final AtomicLong ahead = new AtomicLong(); // offset of our clock in nanoseconds
    private StoreFixture db;
    private HikariDataSource pool;
    private LeaderLocks locks;

    LeadershipContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        pool = Databases.newPool(database.url(), 10, false);
        OutboxSchema.createLeader(pool, database.store());
        db = new StoreFixture(pool, database.store(), TABLE, database == Databases.POSTGRES);
        locks = new LeaderLocks(database, db);
    }

    @AfterEach
    void closeLeaderships() {
        open.forEach(JdbcLeadership::close);
    }

    @Test
    void the_first_leads_and_the_others_stand_by() {
        JdbcLeadership first = node();
        JdbcLeadership second = node();

        assertThat(first.isLeader()).isFalse();
        assertThat(first.lead()).isTrue();
        assertThat(second.lead()).isFalse();

        assertThat(first.isLeader()).isTrue();
        assertThat(second.isLeader()).isFalse();
        assertThat(first.lead()).isTrue();
        assertThat(locks.holders()).hasSize(1);
    }

    @Test
    void a_standby_knows_that_another_one_leads_until_it_leads_itself() {
        JdbcLeadership leader = node();
        JdbcLeadership standby = node();

        leader.lead();
        standby.lead();
        assertThat(leader.isLed()).isTrue();
        assertThat(standby.isLed()).isTrue();

        leader.close();
        assertThat(leader.isLed()).isFalse(); // as far as it knows
        standby.lead();
        assertThat(standby.isLed()).isTrue();
    }

    @Test
    void a_leader_stays_sure_while_nobody_asks_it_to_lead() {
        JdbcLeadership leader = node();
        leader.lead();

        await().pollDelay(TERM.multipliedBy(2)).until(() -> true);

        await().until(leader::isLeader); // a heartbeat may have been late
        assertThat(node().lead()).isFalse();
    }

    @Test
    void a_standby_leads_when_the_leader_has_closed() {
        JdbcLeadership leader = node();
        JdbcLeadership standby = node();
        leader.lead();
        standby.lead();

        leader.close();

        assertThat(leader.isLeader()).isFalse();
        assertThat(leader.lead()).isFalse();
        assertThat(standby.lead()).isTrue();
        leader.close(); // a second call is harmless
        assertThat(standby.isLeader()).isTrue();
    }

    @Test
    void a_standby_that_asks_once_per_poll_interval_leads_within_two_of_them_after_a_close() {
        assertTakenOverInTime(JdbcLeadership::close);
    }

    @Test
    void a_standby_that_asks_once_per_poll_interval_leads_within_two_of_them_after_the_end_of_a_session() {
        assertTakenOverInTime(leader -> locks.terminate());
    }

    private void assertTakenOverInTime(Consumer<JdbcLeadership> loss) {
        JdbcLeadership leader = node(POLL_INTERVAL.dividedBy(2));
        JdbcLeadership standby = node(POLL_INTERVAL.dividedBy(2));
        assertThat(leader.lead()).isTrue();
        assertThat(standby.lead()).isFalse(); // just before the loss, so that it waits as long as possible
        long lost = System.nanoTime();
        loss.accept(leader);

        do {
            await().pollDelay(POLL_INTERVAL).until(() -> true);
        } while (!standby.lead());

        assertThat(Duration.ofNanos(System.nanoTime() - lost))
                .isLessThan(POLL_INTERVAL.multipliedBy(2).plus(SLOW_MACHINE));
    }

    @Test
    void however_often_it_was_asked_to_lead_one_close_frees_the_lock_and_the_connection_goes_back_as_it_came()
            throws SQLException {
        JdbcLeadership leader = node();
        for (int i = 0; i < 5; i++) {
            assertThat(leader.lead()).isTrue();
        }
        assertThat(locks.holders()).hasSize(1);
        int used = pool.getHikariPoolMXBean().getActiveConnections();

        leader.close();

        assertThat(used).isEqualTo(1);
        assertThat(locks.holders()).isEmpty();
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        try (Connection connection = pool.getConnection()) {
            assertThat(connection.getAutoCommit()).isFalse();
            assertThat(idleLimit(connection)).isEqualTo(freshIdleLimit());
        }
    }

    private String idleLimit(Connection connection) throws SQLException {
        String sql = switch (database) {
            case POSTGRES -> "SHOW idle_session_timeout";
            case MARIADB, MYSQL -> "SELECT @@SESSION.wait_timeout";
            default -> "SELECT 1";
        };
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    private String freshIdleLimit() throws SQLException {
        try (HikariDataSource fresh = Databases.newPool(pool.getJdbcUrl(), 1, true);
                Connection connection = fresh.getConnection()) {
            return idleLimit(connection);
        }
    }

    @Test
    void a_standby_holds_no_connection() {
        node().lead();

        assertThat(node().lead()).isFalse();

        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(1); // the connection of the leader
    }

    @Test
    void a_leader_whose_session_was_ended_is_none_and_says_so_before_it_leads_again() {
        JdbcLeadership leader = node();
        JdbcLeadership standby = node();
        leader.lead();

        locks.terminate();

        await().atMost(5, TimeUnit.SECONDS).until(() -> !leader.isLeader());
        await().atMost(5, TimeUnit.SECONDS).until(standby::lead);
        assertThat(leader.lead()).isFalse();
        assertThat(leader.lead()).isFalse();
        assertThat(leader.isLeader()).isFalse();
        standby.close();
        assertThat(leader.lead()).isTrue();
    }

    @Test
    void a_connection_whose_abort_fails_is_closed_all_the_same() {
        FaultyDataSource faulty = new FaultyDataSource(pool);
        JdbcLeadership leader = JdbcLeadership.of(faulty, TABLE, TERM);
        open.add(leader);
        assertThat(leader.lead()).isTrue();
        FaultyDataSource.Fault abort = faulty.failBefore(1, FaultyDataSource.Call.to("abort"), "08006");

        locks.terminate();

        await().atMost(5, TimeUnit.SECONDS).until(() -> faulty.openConnections() == 0);
        assertThat(abort.happened()).isTrue();
    }

    @Test
    void a_leader_that_stood_still_for_a_term_is_not_sure_until_it_has_asked() {
        Duration term = Duration.ofSeconds(1);
        JdbcLeadership leader = JdbcLeadership.of(pool, TABLE, term, this::clock);
        open.add(leader);
        assertThat(leader.lead()).isTrue();
        assertThat(leader.isLeader()).isTrue();

        ahead.addAndGet(term.toNanos());

        assertThat(leader.isLeader()).isFalse();
        assertThat(leader.lead()).isTrue(); // no other node can have led meanwhile
        assertThat(leader.isLeader()).isTrue();
    }

    private long clock() {
        return System.nanoTime() + ahead.get();
    }

    @Test
    void there_is_never_more_than_one_leader_whatever_becomes_of_sessions() throws Exception {
        List<JdbcLeadership> nodes = List.of(node(), node(), node());
        CountDownLatch stop = new CountDownLatch(1);
        ExecutorService threads = Executors.newFixedThreadPool(nodes.size());
        try {
            for (JdbcLeadership node : nodes) {
                threads.execute(() -> keepAsking(node, stop));
            }
            for (int round = 0; round < 2; round++) {
                await().atMost(10, TimeUnit.SECONDS).until(() -> leaders(nodes) == 1);
                locks.terminate();
                long end = System.nanoTime() + TERM.multipliedBy(2).toNanos();
                while (System.nanoTime() < end) {
                    assertThat(leaders(nodes)).isLessThanOrEqualTo(1);
                }
            }
        } finally {
            stop.countDown();
            threads.shutdown();
            assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    private static void keepAsking(JdbcLeadership node, CountDownLatch stop) {
        try {
            do {
                node.lead();
            } while (!stop.await(20, TimeUnit.MILLISECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Counts the nodes that lead at the same moment: each led before all of them were asked and still
     * led afterwards.
     */
    private static long leaders(List<JdbcLeadership> nodes) {
        List<JdbcLeadership> before =
                nodes.stream().filter(JdbcLeadership::isLeader).toList();
        return before.stream().filter(JdbcLeadership::isLeader).count();
    }

    @Test
    void a_database_that_cannot_be_reached_is_no_leadership_and_later_it_is_tried_again() {
        JdbcLeadership node = JdbcLeadership.of(pool, TABLE, TERM);
        open.add(node);
        pool.getHikariConfigMXBean().setConnectionTimeout(250);
        List<Connection> all = takeAll();

        assertThat(node.lead()).isFalse();

        all.forEach(LeadershipContract::close);
        assertThat(node.lead()).isTrue();
    }

    private List<Connection> takeAll() {
        List<Connection> all = new ArrayList<>();
        try {
            for (int i = 0; i < pool.getMaximumPoolSize(); i++) {
                all.add(pool.getConnection());
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        return all;
    }

    private static void close(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2, 5})
    void behind_a_proxy_that_pools_transactions_nobody_leads_by_a_session(int faithful) throws SQLException {
        HikariDataSource direct = Databases.newPool(pool.getJdbcUrl(), 3, true);
        try (SwitchingProxy proxy = new SwitchingProxy(direct, faithful)) {
            JdbcLeadership node = JdbcLeadership.of(proxy.dataSource(), TABLE, TERM);
            open.add(node);

            if (database == Databases.H2) {
                assertThat(node.lead()).isTrue(); // a lease does not belong to a session
            } else {
                assertThatThrownBy(node::lead)
                        .isInstanceOf(LeadershipRefusedException.class)
                        .hasMessageContaining(TABLE)
                        .hasMessageContaining("proxy that pools transactions")
                        .hasMessageContaining("session mode");
                assertThat(node.isLeader()).isFalse();
                assertThatThrownBy(node::lead).isInstanceOf(LeadershipRefusedException.class);
                assertThat(locks.holders()).isEmpty();
            }
        }
    }

    @Test
    void a_term_that_is_too_short_or_too_long_is_refused() {
        assertThatThrownBy(() -> JdbcLeadership.of(pool, TABLE, Duration.ofMillis(99)))
                .hasMessageContaining("term must be between");
        assertThatThrownBy(() -> JdbcLeadership.of(pool, TABLE, Duration.ofHours(1)))
                .hasMessageContaining("term must be between");
    }

    private JdbcLeadership node() {
        return node(TERM);
    }

    private JdbcLeadership node(Duration term) {
        JdbcLeadership node = JdbcLeadership.of(pool, TABLE, term);
        open.add(node);
        return node;
    }
}
