package outbox.testing.contract;

import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.RetryPolicy;
import outbox.registry.DefaultListenerRegistry;
import outbox.runtime.OutboxRuntime;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

import static org.awaitility.Awaitility.await;

/**
 * Runs the whole engine on a plan and compares the result. If a plan fails, it searches for a shorter plan that
 * still fails. An event that is never delivered is also detected: no listener runs for a while although events are
 * unfinished. For one thread only.
 */
final class DeliveryCheck {

    static final int MAX_ATTEMPTS = 4;
    static final Duration BACKOFF = Duration.ofMillis(100);

    private static final int TRANSACTION = 20;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** Creates new, empty tables. */
    interface Fixtures {
        StoreFixture create() throws SQLException;
    }

    private final Fixtures fixtures;
    private final Duration silence;
    private final Duration shortening;

    /**
     * Creates a check that uses these tables.
     *
     * @param silence how long no listener may run while events are unfinished; a third of this while a plan
     *     is shortened
     * @param shortening the time limit for shortening a plan
     */
    DeliveryCheck(Fixtures fixtures, Duration silence, Duration shortening) {
        this.fixtures = fixtures;
        this.silence = silence;
        this.shortening = shortening;
    }

    Optional<String> difference(List<DeliveryPlan.Step> steps) throws SQLException {
        Optional<String> difference = differenceAfter(steps, silence);
        return difference.isPresent() ? Optional.of(shortest(steps, difference.get())) : difference;
    }

    /** Removes parts of the plan, from halves down to single events, as long as the result still differs. */
    private String shortest(List<DeliveryPlan.Step> all, String first) throws SQLException {
        long start = System.nanoTime();
        List<DeliveryPlan.Step> shortest = all;
        String what = first;
        for (int part = Math.max(1, all.size() / 2); part >= 1; part /= 2) {
            for (int from = 0; from < shortest.size() && shortest.size() > 1; ) {
                if (System.nanoTime() - start > shortening.toNanos()) {
                    part = 0;
                    break;
                }
                List<DeliveryPlan.Step> fewer = new ArrayList<>(shortest);
                fewer.subList(from, Math.min(from + part, fewer.size())).clear();
                Optional<String> difference = differenceAfter(fewer, silence.dividedBy(3));
                if (difference.isPresent()) {
                    shortest = fewer;
                    what = difference.get();
                } else {
                    from += part;
                }
            }
        }
        return "with " + shortest.size() + " events: " + what + "\n"
                + shortest.stream().limit(50).map(step -> "    " + step).collect(Collectors.joining("\n"));
    }

    private Optional<String> differenceAfter(List<DeliveryPlan.Step> steps, Duration quiet) throws SQLException {
        StoreFixture db = fixtures.create();
        DeliveryPlan plan = new DeliveryPlan(steps);
        for (List<Integer> wave : plan.waves()) {
            Optional<String> written = write(db, plan, wave);
            if (written.isPresent()) {
                return written;
            }
            boolean ended = deliver(db, plan, quiet);
            Optional<String> difference = plan.difference(db.all());
            if (difference.isPresent() || !ended) {
                return Optional.of(
                        (ended ? "" : "not all events ended; ") + difference.orElse("those that did are right"));
            }
            plan.endWave();
        }
        return Optional.empty();
    }

    private static Optional<String> write(StoreFixture db, DeliveryPlan plan, List<Integer> wave) {
        StepTx tx = new StepTx();
        OutboxWriter writer = new OutboxWriter(tx, db.store());
        for (int from = 0; from < wave.size(); from += TRANSACTION) {
            List<Integer> some = wave.subList(from, Math.min(wave.size(), from + TRANSACTION));
            List<EventEnvelope> events = plan.envelopes(some);
            boolean rolledBack = plan.isRolledBack(some.get(0));
            List<String> ids = tx.in(db, rolledBack, () -> writer.writeAll(events));
            List<String> expected = plan.written(some, rolledBack);
            if (!ids.equals(expected)) {
                return Optional.of("ids of a write: expected " + expected + " but was " + ids);
            }
        }
        return Optional.empty();
    }

    /** Delivers the events. Returns false if no listener runs any more although events are unfinished. */
    private static boolean deliver(StoreFixture db, DeliveryPlan plan, Duration quiet) {
        try (OutboxRuntime runtime = OutboxRuntime.builder(db.dataSource()::getConnection, db.store())
                .dispatcher(dispatcher -> dispatcher
                        .listenerRegistry(new DefaultListenerRegistry().register(DeliveryPlan.TYPE, plan::deliver))
                        .retryPolicy(RetryPolicy.fixed(BACKOFF))
                        .maxAttempts(MAX_ATTEMPTS)
                        .coldQueueCapacity(200))
                .poller(poller -> poller.batchSize(100).intervalMs(1000))
                .build()) {
            runtime.start();
            Progress progress = new Progress(plan);
            await().atMost(PATIENCE.plusSeconds(30))
                    .pollInterval(Duration.ofMillis(100))
                    .until(() -> hasEnded(db, plan) || progress.isOver(quiet));
            return hasEnded(db, plan);
        }
    }

    private static boolean hasEnded(StoreFixture db, DeliveryPlan plan) {
        return plan.hasRunAll() && db.count("status IN (0, 2)") == 0;
    }

    /** Detects that no listener has run for some time. */
    private static final class Progress {

        private final DeliveryPlan plan;
        private final long startNanos = System.nanoTime();
        private long sinceNanos = startNanos;
        private int runs;

        Progress(DeliveryPlan plan) {
            this.plan = plan;
            this.runs = plan.runs();
        }

        boolean isOver(Duration quiet) {
            long now = System.nanoTime();
            if (plan.runs() != runs) {
                runs = plan.runs();
                sinceNanos = now;
            }
            return now - sinceNanos > quiet.toNanos() || now - startNanos > PATIENCE.toNanos();
        }
    }
}
