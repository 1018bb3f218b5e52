package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import outbox.jdbc.TortureLedger.Fault;
import outbox.jdbc.TortureLedger.Run;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.ChildJvm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Three processes write and deliver in order while they are continuously frozen, killed and restarted. Afterwards
 * every event has been delivered in order, and every duplicate is explained by a fault.
 * {@code -Doutbox.torture.seconds} sets the duration (default 20), {@code -Doutbox.torture.seed} repeats the random
 * choices of a run.
 */
@Timeout(value = 60, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
abstract class OrderTortureContract {

    private static final int NODES = 3;
    private static final Duration START_LIMIT = Duration.ofSeconds(60);

    private final Databases database;
    private final List<Fault> faults = new CopyOnWriteArrayList<>();
    private final List<String> boots = new CopyOnWriteArrayList<>();
    private final Map<String, List<String>> said = new ConcurrentHashMap<>(); // by boot

    @TempDir
    @SuppressWarnings("NullAway.Init") // before each test
    private Path directory;

    OrderTortureContract(Databases database) {
        this.database = database;
    }

    @Test
    void order_survives_stopped_killed_and_restarted_nodes() throws Exception {
        long seed = Long.getLong("outbox.torture.seed", System.nanoTime());
        Duration length = Duration.ofSeconds(Long.getLong("outbox.torture.seconds", 20));
        System.out.println("Torture of " + database + " for " + length + " with seed " + seed);
        StoreFixture db = database.fixture();
        createAccounts(db);

        List<CompletableFuture<Void>> nodes = new ArrayList<>();
        long end = System.nanoTime() + length.toNanos();
        for (int i = 0; i < NODES; i++) {
            NodeLife life = new NodeLife(urlOf(db), "node" + i, new Random(seed + i), end);
            nodes.add(CompletableFuture.runAsync(life::live, task -> new Thread(task).start()));
        }
        await().atMost(length.plusSeconds(10)).until(() -> System.nanoTime() > end || isAnyOver(nodes));
        Files.createFile(directory.resolve("end"));
        // Events of a dead node wait until its lease expires, and the events of an aggregate are delivered one
        // by one.
        await().atMost(Duration.ofMinutes(2)).until(() -> db.count("status IN (0, 2)") == 0 || isAnyOver(nodes));
        Files.createFile(directory.resolve("quiet"));
        for (CompletableFuture<Void> node : nodes) {
            node.get(2, TimeUnit.MINUTES);
        }

        check(db);
    }

    /** Returns whether a node has failed. No node ends by itself. */
    private static boolean isAnyOver(List<CompletableFuture<Void>> nodes) {
        return nodes.stream().anyMatch(CompletableFuture::isDone);
    }

    private void check(StoreFixture db) {
        List<Run> runs = new ArrayList<>();
        List<Fault> all = new ArrayList<>(faults);
        boots.forEach(boot -> TortureLedger.read(directory.resolve(boot), boot, runs, all));
        TortureCheck check = new TortureCheck(runs, all);
        Map<String, Integer> versions = versions(db);

        List<String> violations = check.violations(versions);

        System.out.println(database + ": " + check.figures());
        if (!violations.isEmpty()) {
            said.forEach((boot, lines) -> lines.forEach(line -> System.out.println(boot + ": " + line)));
        }
        assertThat(violations).as(check.figures()).isEmpty();
        long committed = versions.values().stream().mapToInt(Integer::intValue).sum();
        assertThat(db.count("1 = 1")).isEqualTo(committed);
        assertThat(db.count("status = 1")).isEqualTo(committed);
        assertThat(db.count("locked_by IS NOT NULL OR locked_at IS NOT NULL")).isZero();
        assertThat(committed).isGreaterThan(100);
        // A fault may happen after the attempt of a suspect is recorded and before its run starts. Only then is an
        // attempt counted without a run.
        assertThat(attemptsWithoutRun(db, runs)).isLessThanOrEqualTo(faults.size());
    }

    private static long attemptsWithoutRun(StoreFixture db, List<Run> runs) {
        Map<String, Long> runsOf = runs.stream().collect(Collectors.groupingBy(Run::eventId, Collectors.counting()));
        return db.call(connection -> {
            long excess = 0;
            try (PreparedStatement select = connection.prepareStatement(
                            "SELECT event_id, attempts FROM outbox_event WHERE attempts > 0");
                    ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    excess += Math.max(0, row.getInt(2) - runsOf.getOrDefault(row.getString(1), 0L));
                }
            }
            return excess;
        });
    }

    private static void createAccounts(StoreFixture db) {
        db.inTransaction(connection -> {
            try (var statement = connection.createStatement()) {
                statement.execute("CREATE TABLE account (id INT PRIMARY KEY, version INT NOT NULL)");
                for (int id = 0; id < TortureNode.AGGREGATES; id++) {
                    statement.execute("INSERT INTO account VALUES (" + id + ", 0)");
                }
            }
        });
    }

    private static Map<String, Integer> versions(StoreFixture db) {
        return db.call(connection -> {
            Map<String, Integer> versions = new HashMap<>();
            try (PreparedStatement select = connection.prepareStatement("SELECT id, version FROM account");
                    ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    versions.put(row.getString(1), row.getInt(2));
                }
            }
            return versions;
        });
    }

    private static String urlOf(StoreFixture db) {
        return ((HikariDataSource) db.dataSource()).getJdbcUrl();
    }

    /** The life of one node, as a sequence of boots. For one thread only. */
    private final class NodeLife {

        private final String url;
        private final String name;
        private final Random random;
        private final long end;
        private int boot;

        NodeLife(String url, String name, Random random, long end) {
            this.url = url;
            this.name = name;
            this.random = random;
            this.end = end;
        }

        void live() {
            boolean over = false;
            while (!over) {
                String id = name + "." + ++boot;
                try (ChildJvm child = start(id)) {
                    child.awaitLine("UP", START_LIMIT);
                    over = torment(child, id);
                    said.put(id, child.lines());
                }
            }
        }

        private ChildJvm start(String id) {
            boots.add(id);
            Path ledger = directory.resolve(id);
            try {
                Files.createFile(ledger);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return ChildJvm.start(
                    TortureNode.class,
                    url,
                    database.name(),
                    ledger.toString(),
                    directory.resolve("end").toString(),
                    Long.toString(random.nextLong()));
        }

        /** Freezes the child now and then until it ends. Returns true if it ended permanently. */
        private boolean torment(ChildJvm child, String id) {
            while (true) {
                pause(500, 3000);
                if (System.nanoTime() > end) {
                    awaitQuiet();
                    terminate(child);
                    return true;
                }
                int choice = random.nextInt(100);
                if (choice < 50) {
                    freeze(child, id);
                } else if (choice < 80) {
                    long before = System.nanoTime();
                    child.kill();
                    faults.add(new Fault("kill", id, before, Long.MAX_VALUE));
                    return false;
                } else {
                    long before = System.nanoTime();
                    terminate(child);
                    faults.add(new Fault(TortureLedger.RESTART, id, before, System.nanoTime()));
                    return false;
                }
            }
        }

        private void freeze(ChildJvm child, String id) {
            long lease = TortureNode.LEASE.toMillis();
            long before = System.nanoTime();
            child.freeze();
            pause(lease * 3 / 4, 2 * lease); // long enough to explain a duplicate
            child.resume();
            faults.add(new Fault("stop", id, before, System.nanoTime()));
        }

        private void terminate(ChildJvm child) {
            child.terminate();
            child.awaitLine("CLOSED", Duration.ofSeconds(30));
            child.waitFor(Duration.ofSeconds(30));
        }

        private void awaitQuiet() {
            await().atMost(Duration.ofMinutes(4)).until(() -> Files.exists(directory.resolve("quiet")));
        }

        private void pause(long fromMillis, long toMillis) {
            long until = System.nanoTime()
                    + TimeUnit.MILLISECONDS.toNanos(fromMillis + random.nextInt((int) (toMillis - fromMillis)));
            for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }
    }
}
