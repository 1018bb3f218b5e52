package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.admin.AdminResult;
import outbox.admin.OutboxAdmin;
import outbox.reconcile.FactFinder;
import outbox.reconcile.Found;
import outbox.reconcile.ReconcileAdmin;
import outbox.reconcile.ReconcileJob;
import outbox.reconcile.ReconcileRequest;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.ReconcileStatus;
import outbox.reconcile.Reconciler;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.testing.contract.StoreFixture;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Jobs that find facts without an effect and write their events. Each event is written once, whatever fails
 * in between.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ReconcileContract {

    static final String JOB = Enrollments.JOB;

    private final Databases database;
    private final List<Reconciler> open = new ArrayList<>();
    private final Map<String, Integer> fixed = new ConcurrentHashMap<>(); // values reported to the metrics
    private final Map<String, Integer> failed = new ConcurrentHashMap<>();
    private StoreFixture db;
    private Enrollments enrollments;
    private OutboxAdmin admin;
    private ReconcileAdmin reconcileAdmin;

    ReconcileContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createTables() {
        db = database.fixtureWith("enrollments", pool -> {
            OutboxSchema.create(pool, database.store(), Capability.RECONCILE);
            new Enrollments(pool).create();
        });
        enrollments = new Enrollments(db.dataSource());
        admin = new OutboxAdmin(db.dataSource()::getConnection, db.store());
        reconcileAdmin = new ReconcileAdmin(db.dataSource()::getConnection, db.store());
    }

    @AfterEach
    void closeReconcilers() {
        open.forEach(Reconciler::close);
    }

    /** Returns the store that the reconciler uses. */
    EventStore store() {
        return database.store();
    }

    private Reconciler.Builder builder(ReconcileJob job) {
        return Reconciler.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(store())
                .lookEvery(Duration.ofMillis(50))
                .metrics(new Told())
                .job(job);
    }

    Reconciler reconciler(ReconcileJob job) {
        return opened(builder(job));
    }

    private Reconciler opened(Reconciler.Builder builder) {
        Reconciler reconciler = builder.build();
        open.add(reconciler);
        return reconciler;
    }

    static ReconcileRun run(Reconciler reconciler) {
        return reconciler.run(JOB).orElseThrow();
    }

    @Test
    void events_that_are_missing_are_written_once() {
        enrollments.add(1, 25, db.now());
        Reconciler reconciler = reconciler(enrollments.job().build());

        ReconcileRun first = run(reconciler);
        ReconcileRun second = run(reconciler);

        assertThat(first.error()).isNull();
        assertThat(first.found()).isEqualTo(25);
        assertThat(first.fixed()).isEqualTo(25);
        assertThat(first.checkpoint()).isNull();
        assertThat(second.found()).isEqualTo(25); // they are not delivered yet
        assertThat(second.fixed()).isZero();
        assertThat(db.count("event_type = 'EnrollmentCreated' AND status = 0")).isEqualTo(25);
        assertThat(fixed).isEqualTo(Map.of(JOB, 25));
        assertThat(failed).isEmpty();
    }

    @Test
    void facts_that_are_too_young_or_too_old_are_left_alone() {
        Instant now = db.now();
        enrollments.add(1, now.minusSeconds(30));
        enrollments.add(2, now.minusSeconds(90));
        enrollments.add(3, now.minus(Duration.ofHours(23)));
        enrollments.add(4, now.minus(Duration.ofHours(25)));

        run(reconciler(enrollments.job().build()));

        assertThat(db.count("aggregate_id IN ('2', '3')")).isEqualTo(2);
        assertThat(db.count("1 = 1")).isEqualTo(2);
    }

    @Test
    void an_event_on_its_way_and_one_that_died_are_not_written_again() {
        enrollments.add(1, 2, db.now());
        db.insert(EventEnvelope.builder(Enrollments.TYPE)
                .dedupKey(Enrollments.key(1))
                .payloadJson("{}")
                .build());
        Reconciler reconciler = reconciler(enrollments.job().build());

        assertThat(run(reconciler).fixed()).isEqualTo(1);
        enrollments.execute("UPDATE outbox_event SET status = 3 WHERE aggregate_id = '2'");

        assertThat(run(reconciler).fixed()).isZero();
        assertThat(db.count("1 = 1")).isEqualTo(2);
    }

    @Test
    void facts_that_become_visible_between_two_looks_push_none_of_the_others_out() {
        addEachSecond(11);
        AtomicInteger looks = new AtomicInteger();
        Reconciler reconciler = reconciler(enrollments
                .job()
                .finder(search -> {
                    Found found = enrollments.find(search);
                    if (looks.incrementAndGet() == 1) {
                        addEachSecond(12); // so the second search ends in the middle of the first one
                    }
                    return found;
                })
                .build());

        ReconcileRun run = run(reconciler);

        assertThat(run.error()).isNull();
        assertThat(run.found()).isEqualTo(20);
        assertThat(run.fixed()).isEqualTo(20);
    }

    private void addEachSecond(int from) {
        for (int id = from; id < from + 20; id += 2) {
            enrollments.add(id, id, db.now());
        }
    }

    @Test
    void a_job_whose_looks_never_agree_fails_and_passes_over_nothing() {
        AtomicInteger looks = new AtomicInteger();
        AtomicBoolean restless = new AtomicBoolean(true);
        Reconciler reconciler = reconciler(enrollments
                .job()
                .finder(search -> {
                    if (restless.get()) { // ten facts before all others
                        int from = 1001 - 10 * looks.incrementAndGet();
                        enrollments.add(from, from + 9, db.now());
                    }
                    return enrollments.find(search);
                })
                .build());

        ReconcileRun first = run(reconciler);
        restless.set(false);
        ReconcileRun second = run(reconciler);

        assertThat(first.error()).contains("fixed order");
        assertThat(first.fixed()).isZero();
        assertThat(first.checkpoint()).isNull();
        assertThat(second.error()).isNull();
        assertThat(second.fixed()).isEqualTo(10L * looks.get());
    }

    @Test
    void a_dry_run_counts_and_changes_nothing() {
        enrollments.add(1, 25, db.now());
        db.insert(EventEnvelope.builder(Enrollments.TYPE)
                .dedupKey(Enrollments.key(7))
                .payloadJson("{}")
                .build());
        Reconciler reconciler = reconciler(enrollments.job().build());

        ReconcileRun dry = reconciler.dryRun(JOB).orElseThrow();
        ReconcileRun always = run(opened(builder(enrollments.job().build()).dryRun(true)));

        assertThat(List.of(dry, always)).allSatisfy(run -> {
            assertThat(run.dryRun()).isTrue();
            assertThat(run.found()).isEqualTo(25);
            assertThat(run.fixed()).isEqualTo(24);
        });
        assertThat(db.count("1 = 1")).isEqualTo(1);
        assertThat(fixed).isEmpty();
        assertThat(run(reconciler).fixed()).isEqualTo(24);
    }

    @Test
    void a_job_that_throws_is_recorded_and_its_next_run_goes_on_at_the_checkpoint() {
        enrollments.add(1, 45, db.now());
        AtomicBoolean broken = new AtomicBoolean(true);
        List<String> checkpoints = new ArrayList<>();
        Reconciler reconciler = reconciler(enrollments
                .job()
                .finder(search -> {
                    checkpoints.add(String.valueOf(search.checkpoint()));
                    if (broken.get() && "20".equals(search.checkpoint())) {
                        throw new StackOverflowError("deep");
                    }
                    return enrollments.find(search);
                })
                .build());

        ReconcileRun first = run(reconciler);
        broken.set(false);
        checkpoints.clear();
        ReconcileRun second = run(reconciler);

        assertThat(first.error()).contains("StackOverflowError: deep");
        assertThat(first.fixed()).isEqualTo(20);
        assertThat(first.checkpoint()).isEqualTo("20");
        assertThat(failed).isEqualTo(Map.of(JOB, 1));
        assertThat(second.error()).isNull();
        assertThat(second.fixed()).isEqualTo(25);
        assertThat(checkpoints.get(0)).isEqualTo("20");
        assertThat(db.count("1 = 1")).isEqualTo(45);
        assertThat(reconciler.runs(10)).containsExactly(second, first);
    }

    @Test
    void a_finder_that_hangs_is_interrupted_and_not_asked_again_while_it_does_not_react() throws Exception {
        CountDownLatch hanging = new CountDownLatch(1);
        AtomicInteger asked = new AtomicInteger();
        Reconciler reconciler = reconciler(enrollments
                .job()
                .timeLimit(Duration.ofMillis(200))
                .finder(search -> {
                    asked.incrementAndGet();
                    awaitDeaf(hanging);
                    return Found.last(List.of());
                })
                .build());

        assertThat(run(reconciler).error()).contains("PT0.2S");
        assertThat(run(reconciler).error()).contains("still hangs");
        assertThat(asked).hasValue(1);
        hanging.countDown();
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() -> assertThat(run(reconciler).error()).isNull());
    }

    /** Ignores interrupts. */
    private static void awaitDeaf(CountDownLatch latch) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (latch.getCount() > 0 && System.nanoTime() - end < 0) {
            try {
                latch.await(30, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void an_event_that_is_delivered_and_deleted_between_look_and_write_is_not_written_again() {
        enrollments.add(1, 5, db.now());
        run(reconciler(enrollments.job().build()));
        AtomicInteger looks = new AtomicInteger();
        Reconciler reconciler = reconciler(enrollments
                .job()
                .finder(search -> {
                    Found found = enrollments.find(search);
                    if (looks.incrementAndGet() == 1) {
                        enrollments.deliver(100);
                    }
                    return found;
                })
                .build());

        ReconcileRun run = run(reconciler);

        assertThat(run.found()).isEqualTo(5);
        assertThat(run.fixed()).isZero();
        assertThat(db.count("1 = 1")).isZero();
    }

    @Test
    void runs_are_made_when_they_are_due_and_the_history_is_bounded() {
        enrollments.add(1, 5, db.now());
        Reconciler reconciler = opened(builder(enrollments.job().build()).keepRuns(2));

        reconciler.start();

        await().atMost(Duration.ofSeconds(20)).until(() -> db.count("1 = 1") == 5);
        String first = reconciler.runs(10).get(0).runId();
        await().atMost(Duration.ofSeconds(20))
                .until(() -> reconciler.runs(10).stream()
                        .allMatch(run -> !run.runId().equals(first) && run.endedAt() != null));
        assertThat(reconciler.runs(10)).hasSizeLessThanOrEqualTo(3); // one run may have started
    }

    @Test
    void closing_lets_the_batch_under_way_end_and_leaves_the_rest_to_the_next() throws Exception {
        enrollments.add(1, 45, db.now());
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Reconciler reconciler = reconciler(enrollments
                .job()
                .finder(search -> {
                    if ("20".equals(search.checkpoint())) {
                        inside.countDown();
                        goOn.await(20, TimeUnit.SECONDS);
                    }
                    return enrollments.find(search);
                })
                .build());
        reconciler.start();
        assertThat(inside.await(20, TimeUnit.SECONDS)).isTrue();

        Thread closer = new Thread(reconciler::close);
        closer.start();
        await().atMost(Duration.ofSeconds(10)).until(() -> closer.getState() == Thread.State.TIMED_WAITING);
        goOn.countDown();
        closer.join(20_000);

        assertThat(closer.isAlive()).isFalse();
        assertThat(db.count("1 = 1")).isEqualTo(30);
        ReconcileRun cut = reconciler.runs(1).get(0);
        assertThat(cut.error()).isNull();
        assertThat(cut.endedAt()).isNotNull();
        assertThat(cut.checkpoint()).isEqualTo("30");
        assertThatIllegalStateException().isThrownBy(() -> reconciler.run(JOB));
        assertThatIllegalStateException().isThrownBy(reconciler::start);
    }

    @Test
    void a_job_that_is_not_there_is_refused_by_name() {
        Reconciler reconciler = reconciler(enrollments.job().build());

        assertThatIllegalArgumentException()
                .isThrownBy(() -> reconciler.run("payout"))
                .withMessageContaining("payout")
                .withMessageContaining(JOB);
    }

    /** Tests that only a shared run book can pass. */
    abstract static class Shared extends ReconcileContract {

        Shared(Databases database) {
            super(database);
        }

        @Test
        void a_dead_event_of_a_use_case_is_left_to_a_person_and_its_replay() {
            enrollments().add(1, 3, db().now());
            for (int id = 1; id <= 3; id++) {
                db().insert(EventEnvelope.builder(id == 3 ? "EnrollmentCancelled" : Enrollments.TYPE)
                        .dedupKey(Enrollments.key(id))
                        .payloadJson("{}")
                        .build());
            }
            enrollments().execute("UPDATE outbox_event SET status = 3 WHERE dedup_key <> '" + Enrollments.key(2) + "'");
            enrollments().execute("UPDATE outbox_event SET status = 1 WHERE dedup_key = '" + Enrollments.key(2) + "'");
            Reconciler reconciler = reconciler(enrollments().job().build());

            ReconcileRun dry = reconciler.dryRun(JOB).orElseThrow();
            ReconcileRun run = run(reconciler);

            assertThat(run.found()).isEqualTo(3);
            assertThat(run.fixed()).isEqualTo(2);
            assertThat(dry.fixed()).isEqualTo(2);
            assertThat(db().count("aggregate_id = '2'")).isEqualTo(1); // delivered, but still without effect
            assertThat(db().count("aggregate_id = '3'")).isEqualTo(1); // the dead event was about another fact
            assertThat(db().count("1 = 1")).isEqualTo(5);
        }

        @Test
        void a_request_whose_run_was_cut_short_is_not_over_until_another_run_has_gone_on() throws Exception {
            enrollments().add(1, 45, db().now());
            CountDownLatch inside = new CountDownLatch(1);
            CountDownLatch goOn = new CountDownLatch(1);
            Reconciler closing = reconciler(enrollments()
                    .job()
                    .every(Duration.ofDays(1))
                    .finder(search -> {
                        if ("20".equals(search.checkpoint())) {
                            inside.countDown();
                            goOn.await(20, TimeUnit.SECONDS);
                        }
                        return enrollments().find(search);
                    })
                    .build());
            closing.jobs();
            reconcileAdmin().request(request("r-1").build());
            closing.start();
            assertThat(inside.await(20, TimeUnit.SECONDS)).isTrue();
            AdminResult underWay = reconcileAdmin().request(request("r-1").build());
            Thread closer = new Thread(closing::close);
            closer.start();
            await().atMost(Duration.ofSeconds(10)).until(() -> closer.getState() == Thread.State.TIMED_WAITING);
            goOn.countDown();
            closer.join(20_000);

            ReconcileRun cut = reconcileAdmin().run("r-1").orElseThrow();
            AdminResult cutShort = reconcileAdmin().request(request("r-1").build());
            reconciler(enrollments().job().every(Duration.ofDays(1)).build()).start();
            await().atMost(Duration.ofSeconds(20)).until(() -> isOver("r-1"));
            AdminResult over = reconcileAdmin().request(request("r-1").build());

            assertThat(underWay.complete()).isFalse();
            assertThat(cut.endedAt()).isNotNull();
            assertThat(cut.found()).isEqualTo(30);
            assertThat(cutShort.complete()).isFalse();
            assertThat(over.complete()).isTrue();
            assertThat(over.affected()).isEqualTo(45);
        }

        private boolean isOver(String requestId) {
            return reconcileAdmin().jobs().stream().noneMatch(job -> requestId.equals(job.requestId()));
        }

        @Test
        void the_window_counts_from_the_last_run_that_got_to_its_end() {
            Instant now = db().now();
            enrollments().add(1, now.minus(Duration.ofHours(60)));
            enrollments().add(2, now.minus(Duration.ofHours(90)));
            Reconciler reconciler = reconciler(enrollments().job().build());
            assertThat(run(reconciler).found()).isZero();

            enrollments()
                    .execute("UPDATE outbox_reconcile_job SET swept_at = TIMESTAMP '"
                            + now.minus(Duration.ofDays(2))
                                    .toString()
                                    .substring(0, 19)
                                    .replace('T', ' ') + "'");

            // 60 hours old: within the 48 hours plus the window of 24 hours
            assertThat(run(reconciler).fixed()).isEqualTo(1);
            assertThat(run(reconciler).found()).isZero(); // everything has been searched now
        }

        @Test
        void who_lost_its_job_to_another_run_writes_nothing() {
            enrollments().add(1, 25, db().now());
            Reconciler other = reconciler(enrollments().job().build());
            AtomicReference<ReconcileRun> theirs = new AtomicReference<>();
            Reconciler slow = reconciler(enrollments()
                    .job()
                    .finder(search -> {
                        Found found = enrollments().find(search);
                        if ("10".equals(search.checkpoint()) && theirs.get() == null) {
                            enrollments().endLeases();
                            theirs.set(run(other));
                        }
                        return found;
                    })
                    .build());

            ReconcileRun ours = run(slow);

            assertThat(ours.error()).contains("taken over");
            assertThat(ours.fixed()).isEqualTo(10);
            assertThat(Objects.requireNonNull(theirs.get()).fixed()).isEqualTo(15);
            assertThat(db().count("1 = 1")).isEqualTo(25);
            assertThat(reconcileAdmin().runs(JOB, 10))
                    .satisfiesExactly(
                            won -> assertThat(won.error()).isNull(),
                            lost -> assertThat(lost.error()).contains("lost"));
        }

        @Test
        void while_a_run_has_a_job_no_other_begins() {
            AtomicReference<Boolean> begun = new AtomicReference<>();
            Reconciler other = reconciler(enrollments().job().build());
            FactFinder nosy = search -> {
                begun.set(other.run(JOB).isPresent());
                return Found.last(List.of());
            };

            run(reconciler(enrollments().job().finder(nosy).build()));

            assertThat(begun.get()).isFalse();
            assertThat(other.run(JOB)).isPresent();
        }

        @Test
        void two_reconcilers_at_once_write_each_event_once_though_nothing_is_kept_of_it() throws Exception {
            AtomicBoolean done = new AtomicBoolean();
            AtomicInteger fixedByAll = new AtomicInteger();
            List<Thread> threads = new ArrayList<>();
            List<Throwable> trouble = new CopyOnWriteArrayList<>();
            for (int i = 0; i < 2; i++) {
                Reconciler reconciler = reconciler(enrollments().job().build());
                for (int j = 0; j < 2; j++) {
                    threads.add(started(trouble, () -> {
                        while (!done.get()) {
                            reconciler.run(JOB).ifPresent(run -> fixedByAll.addAndGet((int) run.fixed()));
                        }
                    }));
                }
            }
            threads.add(started(trouble, () -> {
                while (!done.get()) {
                    enrollments().deliver(7);
                }
            }));

            Instant now = db().now();
            for (int hundred = 0; hundred < 4; hundred++) {
                enrollments().add(hundred * 100 + 1, hundred * 100 + 100, now);
            }
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> !trouble.isEmpty()
                            || enrollments().ask("SELECT COUNT(DISTINCT enrollment_id) FROM notification") == 400);
            done.set(true);
            for (Thread thread : threads) {
                thread.join(20_000);
            }

            assertThat(trouble).isEmpty();
            enrollments().deliver(1000);
            assertThat(enrollments().ask("SELECT COUNT(*) FROM notification")).isEqualTo(400);
            assertThat(fixedByAll).hasValue(400);
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

        @Test
        void a_request_is_served_by_whoever_has_the_job_and_a_dry_run_unless_it_is_confirmed() {
            enrollments().add(1, 5, db().now());
            Reconciler reconciler =
                    reconciler(enrollments().job().every(Duration.ofDays(1)).build());
            run(reconciler); // so that it is not due for a day
            enrollments().add(6, 10, db().now());
            reconciler.start();

            AdminResult asked = reconcileAdmin().request(request("r-1").build());
            await().atMost(Duration.ofSeconds(20)).until(() -> isOver("r-1"));
            long before = db().count("1 = 1");
            AdminResult confirmed =
                    reconcileAdmin().request(request("r-2").confirmed(true).build());
            await().atMost(Duration.ofSeconds(20)).until(() -> isOver("r-2"));

            assertThat(asked.dryRun()).isTrue();
            assertThat(asked.complete()).isFalse();
            assertThat(reconcileAdmin().run("r-1")).hasValueSatisfying(run -> {
                assertThat(run.dryRun()).isTrue();
                assertThat(run.fixed()).isEqualTo(5);
            });
            assertThat(before).isEqualTo(5);
            assertThat(confirmed.dryRun()).isFalse();
            assertThat(db().count("1 = 1")).isEqualTo(10);
            assertThat(admin().audit("r-1")).isEmpty();
            assertThat(admin().audit("r-2")).hasValueSatisfying(entry -> {
                assertThat(entry.actor()).isEqualTo("ada");
                assertThat(entry.affected()).isEqualTo(5);
                assertThat(entry.finishedAt()).isNotNull();
            });
            assertThat(reconcileAdmin()
                            .request(request("r-2").confirmed(true).build())
                            .repeated())
                    .isTrue();
            assertThat(reconcileAdmin().request(request("r-1").build()).repeated())
                    .isTrue();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> reconcileAdmin()
                            .request(request("r-1").confirmed(true).build()))
                    .withMessageContaining("dry run");
            assertThat(reconcileAdmin().jobs())
                    .extracting(ReconcileStatus::requestId)
                    .containsOnlyNulls();
        }

        private static ReconcileRequest.Builder request(String id) {
            return ReconcileRequest.job(JOB).actor("ada").reason("ticket 17").requestId(id);
        }

        @Test
        void a_request_for_no_job_and_one_beside_another_are_refused() {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> reconcileAdmin().request(request("r-1").build()))
                    .withMessageContaining(JOB);
            reconciler(enrollments().job().build()).jobs();
            reconcileAdmin().request(request("r-1").build());

            assertThatIllegalStateException()
                    .isThrownBy(() -> reconcileAdmin()
                            .request(request("r-2").confirmed(true).build()))
                    .withMessageContaining("r-1");
            assertThat(admin().audit("r-2")).isEmpty();
        }

        @Test
        void a_job_whose_row_was_deleted_is_made_known_anew() {
            enrollments().add(1, 5, db().now());
            Reconciler reconciler = reconciler(enrollments().job().build());
            reconciler.start();
            await().atMost(Duration.ofSeconds(20)).until(() -> db().count("1 = 1") == 5);

            enrollments().execute("DELETE FROM outbox_reconcile_job");
            enrollments().add(6, 10, db().now());

            await().atMost(Duration.ofSeconds(20)).until(() -> db().count("1 = 1") == 10);
        }

        @Test
        void another_schedule_of_a_known_job_takes_effect() {
            reconciler(enrollments().job().every(Duration.ofDays(9)).build()).run(JOB);
            Instant before = reconcileAdmin().jobs().get(0).nextAt();

            reconciler(enrollments().job().every(Duration.ofDays(9)).build()).jobs();
            assertThat(reconcileAdmin().jobs().get(0).nextAt()).isEqualTo(before);
            reconciler(enrollments().job().every(Duration.ofDays(2)).build()).jobs();

            assertThat(reconcileAdmin().jobs()).singleElement().satisfies(job -> {
                assertThat(job.schedule()).isEqualTo("every PT48H");
                assertThat(job.nextAt()).isBefore(before);
            });
        }

        @Test
        void a_node_with_the_schedule_of_before_does_not_undo_the_new_one() {
            Reconciler old =
                    reconciler(enrollments().job().every(Duration.ofDays(9)).build());
            old.run(JOB);
            reconciler(enrollments().job().every(Duration.ofDays(2)).build()).jobs();

            ReconcileRun run = run(old);

            assertThat(reconcileAdmin().jobs()).singleElement().satisfies(job -> {
                assertThat(job.schedule()).isEqualTo("every PT48H");
                assertThat(job.nextAt())
                        .isEqualTo(Objects.requireNonNull(run.endedAt()).plus(Duration.ofDays(2)));
            });

            enrollments().execute("UPDATE outbox_reconcile_job SET schedule = 'at full moon'");
            assertThat(Objects.requireNonNull(run(old).endedAt()).plus(Duration.ofDays(9)))
                    // text written by a later version
                    .isEqualTo(reconcileAdmin().jobs().get(0).nextAt());
        }

        @Test
        void without_its_tables_the_refusal_says_what_to_create() {
            enrollments().execute("DROP TABLE outbox_reconcile");
            Reconciler reconciler = reconciler(enrollments().job().build());

            assertThatThrownBy(() -> reconciler.run(JOB))
                    .isInstanceOf(EventStoreException.class)
                    .hasMessageContaining("Capability.RECONCILE")
                    .hasMessageContaining("V9__outbox_reconcile.sql");
            assertThat(reconcileAdmin().runs(null, 10)).isEmpty();
        }
    }

    StoreFixture db() {
        return db;
    }

    Enrollments enrollments() {
        return enrollments;
    }

    OutboxAdmin admin() {
        return admin;
    }

    ReconcileAdmin reconcileAdmin() {
        return reconcileAdmin;
    }

    /** Metrics that keep the values reported about jobs. */
    private final class Told implements MetricsExporter {

        @Override
        public void recordReconciled(String job, int events) {
            fixed.merge(job, events, Integer::sum);
        }

        @Override
        public void recordReconcileFailure(String job) {
            failed.merge(job, 1, Integer::sum);
        }

        @Override
        public void incrementHotEnqueued() {}

        @Override
        public void incrementHotDropped() {}

        @Override
        public void incrementColdEnqueued() {}

        @Override
        public void incrementDispatchSuccess() {}

        @Override
        public void incrementDispatchFailure() {}

        @Override
        public void incrementDispatchDead() {}

        @Override
        public void recordQueueDepths(int hotDepth, int coldDepth) {}

        @Override
        public void recordOldestLagMs(long lagMs) {}
    }
}
