package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.ChildJvm;

import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two processes on one table. Only one of them delivers at a time, even if the leader is frozen, killed or cut off.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
abstract class LeaderProcessContract {

    /** A published event. */
    private record Published(String node, String aggregate, int number) {}

    private static final Duration START = Duration.ofSeconds(30);
    private static final Duration TAKE_OVER = LeaderNode.POLL_INTERVAL
            .multipliedBy(2)
            .plusSeconds(8); // slow machines; the promised time is held by LeadershipContract
    private static final List<String> AGGREGATES = List.of("a", "b", "c");

    private final Databases database;
    private final Map<String, ChildJvm> nodes = new TreeMap<>();
    private final AtomicInteger written = new AtomicInteger(); // of each aggregate
    private String url = "";
    private StoreFixture db;
    private LeaderLocks locks;

    LeaderProcessContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        url = database.url();
        var pool = Databases.newPool(url, 4, true);
        OutboxSchema.create(pool, database.store(), Capability.ORDER);
        OutboxSchema.createLeader(pool, database.store());
        db = new StoreFixture(
                pool, database.store(), AbstractJdbcEventStore.DEFAULT_TABLE, database == Databases.POSTGRES);
        locks = new LeaderLocks(database, db);
        String number = database == Databases.POSTGRES ? "BIGSERIAL" : "BIGINT AUTO_INCREMENT";
        execute("CREATE TABLE published (id " + number
                + " PRIMARY KEY, node VARCHAR(10), aggregate VARCHAR(10), number INT)");
    }

    @AfterEach
    void endProcesses() {
        nodes.values().forEach(ChildJvm::close);
    }

    @Test
    void one_at_a_time_leads_and_order_is_kept_when_the_leader_loses_its_session_is_frozen_and_is_killed() {
        start("one");
        start("two");
        writeAndAwait(20);

        locks.terminate();
        writeAndAwait(20);

        String frozen = leader();
        String other = otherThan(frozen);
        write(LeaderNode.HOLD, 1);
        AGGREGATES.forEach(each -> node(frozen).awaitLine("HOLDS", START)); // all three have published
        write("T", 5); // waits behind the events of the frozen node
        node(frozen).freeze();
        awaitPublishedBy(other);
        awaitAllPublished();
        int before = published().size();
        node(frozen).resume();
        writeAndAwait(20);
        assertThat(published().subList(before, published().size()))
                .allMatch(one -> one.node().equals(other));

        write("T", 20);
        node(other).kill();
        writeAndAwait(20);
        assertThat(leader()).isEqualTo(frozen);

        assertInOrderOfFirstAppearance();
        // the node that lost its session may have got the lock again
        assertThat(handOvers()).isBetween(2L, 3L);
        node(frozen).terminate();
        node(frozen).waitFor(START);
        assertThat(node(frozen).lines()).contains("CLOSED");
        assertThat(locks.holders()).isEmpty();
        assertThat(db.count("status <> 1")).isZero();
        assertThat(db.count("attempts > 1")).isZero();
    }

    private ChildJvm node(String name) {
        return Objects.requireNonNull(nodes.get(name));
    }

    private void start(String name) {
        ChildJvm node = ChildJvm.start(LeaderNode.class, url, database.name(), name);
        nodes.put(name, node);
        node.awaitLine("STARTED", START);
    }

    private void write(String type, int events) {
        for (int i = 0; i < events; i++) {
            int number = written.incrementAndGet();
            db.insert(AGGREGATES.stream()
                    .map(aggregate -> OrderLog.event(type, aggregate, number))
                    .toList());
        }
    }

    private void writeAndAwait(int events) {
        write("T", events);
        awaitAllPublished();
    }

    private void awaitAllPublished() {
        await().atMost(TAKE_OVER)
                .untilAsserted(() -> assertThat(new TreeSet<>(numbers("a"))).hasSize(written.get()));
        await().atMost(TAKE_OVER).until(() -> db.count("status <> 1") == 0);
    }

    private void awaitPublishedBy(String node) {
        await().atMost(TAKE_OVER).until(() -> leader().equals(node));
    }

    /** Returns the node that published last. */
    private String leader() {
        List<Published> all = published();
        return all.get(all.size() - 1).node();
    }

    private static String otherThan(String name) {
        return name.equals("one") ? "two" : "one";
    }

    private List<Integer> numbers(String aggregate) {
        return published().stream()
                .filter(one -> one.aggregate().equals(aggregate))
                .map(Published::number)
                .toList();
    }

    private void assertInOrderOfFirstAppearance() {
        for (String aggregate : AGGREGATES) {
            Set<Integer> firsts = new LinkedHashSet<>(numbers(aggregate));
            assertThat(firsts)
                    .containsExactlyElementsOf(
                            IntStream.rangeClosed(1, written.get()).boxed().toList());
        }
    }

    /** Returns how often the publishing node changed. */
    private long handOvers() {
        List<Published> all = published();
        return IntStream.range(1, all.size())
                .filter(i -> !all.get(i).node().equals(all.get(i - 1).node()))
                .count();
    }

    private List<Published> published() {
        return db.call(connection -> {
            List<Published> all = new ArrayList<>();
            try (Statement statement = connection.createStatement();
                    ResultSet rows =
                            statement.executeQuery("SELECT node, aggregate, number FROM published ORDER BY id")) {
                while (rows.next()) {
                    all.add(new Published(rows.getString(1), rows.getString(2), rows.getInt(3)));
                }
            }
            return all;
        });
    }

    private void execute(String sql) {
        db.inTransaction(connection -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        });
    }
}
