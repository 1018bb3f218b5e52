package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.internal.SqlErrors;
import outbox.reconcile.ReconcileAdmin;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.Reconciler;
import outbox.testing.fault.ChildJvm;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** A process with a reconcile job is killed during its work. Nothing is written twice, and nothing is missed. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
abstract class ReconcileCrashContract {

    private static final Duration START = Duration.ofSeconds(40);

    private final Databases database;
    private final List<Reconciler> open = new ArrayList<>();
    private String url = "";
    private DataSource pool;
    private Enrollments enrollments;
    private long writtenBefore = -1; // only the thread that ends leases
    private volatile boolean killed; // set by the test after a kill, cleared by the thread that ends leases

    ReconcileCrashContract(Databases database) {
        this.database = database;
    }

    /** Returns a database that another process can reach. */
    String newUrl() {
        return database.url();
    }

    @BeforeEach
    void createTables() {
        url = newUrl();
        pool = Databases.newPool(url, 10, true);
        OutboxSchema.create(pool, database.store(), Capability.KEYS, Capability.RECONCILE);
        enrollments = new Enrollments(pool);
        enrollments.create();
    }

    @AfterEach
    void closeReconcilers() {
        open.forEach(Reconciler::close);
    }

    private Reconciler reconciler() {
        Reconciler reconciler = Reconciler.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(database.store())
                .lookEvery(Duration.ofMillis(50))
                .ownerId("parent")
                .job(enrollments
                        .job()
                        .finder(search -> ReconcileNode.slowly(enrollments.find(search)))
                        .build())
                .build();
        open.add(reconciler);
        return reconciler;
    }

    private Instant now() throws Exception {
        try (var connection = pool.getConnection()) {
            return database.store().now(connection);
        }
    }

    @ParameterizedTest
    @CsvSource({"BEFORE, 20", "AFTER, 30"})
    void events_and_checkpoint_survive_a_kill_together_and_the_next_run_goes_on_there(String death, int written)
            throws Exception {
        enrollments.add(1, 55, now());
        try (ChildJvm child = ChildJvm.start(ReconcileNode.class, url, database.name(), death)) {
            assertThat(child.waitFor(START)).isEqualTo(ReconcileNode.EXIT);
        }

        assertThat(enrollments.ask("SELECT COUNT(*) FROM outbox_event")).isEqualTo(written);
        assertThat(enrollments.ask("SELECT checkpoint FROM outbox_reconcile_job"))
                .isEqualTo(written);
        assertThat(enrollments.ask("SELECT fixed FROM outbox_reconcile")).isEqualTo(written);
        Reconciler one = reconciler();
        assertThat(one.run(Enrollments.JOB)).isEmpty(); // the dead process still holds the job
        enrollments.endLeases();
        ReconcileRun next = one.run(Enrollments.JOB).orElseThrow();

        assertThat(next.fixed()).isEqualTo(55 - written);
        // facts before the checkpoint are not read again
        assertThat(next.found()).isEqualTo(55 - written);
        assertThat(enrollments.ask("SELECT COUNT(DISTINCT aggregate_id) FROM outbox_event"))
                .isEqualTo(55);
        assertThat(enrollments.ask("SELECT COUNT(*) FROM outbox_event")).isEqualTo(55);
        assertThat(new ReconcileAdmin(pool::getConnection, database.store()).runs(null, 10))
                .satisfiesExactly(run -> assertThat(run.error()).isNull(), lost -> {
                    assertThat(lost.node()).isEqualTo("child");
                    assertThat(lost.error()).contains("lost");
                });
    }

    /**
     * A lease expires after almost every batch, so both nodes work on the same facts, and only the row of the job
     * decides which of them may write. Delivered events are deleted.
     */
    @Test
    void two_reconcilers_at_once_one_of_which_is_killed_again_and_again_write_each_event_once() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        Reconciler ours = reconciler();
        List<Throwable> trouble = new CopyOnWriteArrayList<>();
        List<Thread> threads = List.of(
                started(trouble, () -> ReconcileNode.runUntil(ours, done::get)),
                started(trouble, () -> repeat(done, 5, () -> enrollments.deliver(20))),
                started(trouble, () -> repeat(done, 120, this::endLeasesAfterProgress)));

        int added = 0;
        for (int kills = 0; kills < 3; kills++) {
            try (ChildJvm child = ChildJvm.start(ReconcileNode.class, url, database.name(), "NEVER")) {
                child.awaitLine("STARTED", START);
                long start = System.nanoTime();
                while (!hasWritten(child) && System.nanoTime() - start < START.toNanos()) {
                    // both nodes need some work, but no more than they can do before the end of the test
                    if (enrollments.undone() < 40) {
                        enrollments.add(added + 1, added + 20, now());
                        added += 20;
                    }
                    new CountDownLatch(1).await(50, TimeUnit.MILLISECONDS);
                }
                assertThat(hasWritten(child)).as("the child has written").isTrue();
                enrollments.add(added + 1, added + 20, now());
                added += 20;
            } // killed, wherever it is
            killed = true;
        }
        int facts = added;
        await().atMost(Duration.ofSeconds(60))
                .until(() -> !trouble.isEmpty()
                        || enrollments.ask("SELECT COUNT(DISTINCT enrollment_id) FROM notification") == facts);
        done.set(true);
        for (Thread thread : threads) {
            thread.join(20_000);
            assertThat(thread.isAlive()).isFalse();
        }
        assertThat(trouble).isEmpty();
        enrollments.deliver(1000);

        assertThat(enrollments.ask("SELECT COUNT(*) FROM notification")).isEqualTo(facts);
        assertThat(enrollments.ask("SELECT COUNT(DISTINCT node) FROM outbox_reconcile WHERE fixed > 0"))
                .as("both wrote")
                .isEqualTo(2);
        assertThat(enrollments.ask("SELECT COUNT(*) FROM outbox_reconcile WHERE error LIKE '%lost%'"))
                .as("runs that were taken over")
                .isPositive();
    }

    /** Otherwise nodes on a slow machine would lose each lease before they have written a batch. */
    private void endLeasesAfterProgress() {
        boolean afterKill = killed;
        long written = enrollments.ask("SELECT SUM(fixed) FROM outbox_reconcile");
        if (afterKill || written != writtenBefore) {
            enrollments.endLeases();
            writtenBefore = written;
            if (afterKill) {
                killed = false;
            }
        }
    }

    private static boolean hasWritten(ChildJvm child) {
        return child.lines().stream().anyMatch(line -> line.startsWith("BATCH"));
    }

    private interface Task {
        void run() throws Exception;
    }

    private static Thread started(List<Throwable> trouble, Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (Throwable e) {
                trouble.add(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static void repeat(AtomicBoolean done, int pauseMillis, Task task) throws Exception {
        while (!done.get()) {
            try {
                task.run();
            } catch (Exception e) {
                if (!SqlErrors.isConflict(e)) { // on a conflict, the next round continues
                    throw e;
                }
            }
            new CountDownLatch(1).await(pauseMillis, TimeUnit.MILLISECONDS);
        }
    }
}
