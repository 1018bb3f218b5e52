package outbox.testing;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.RetryPolicies;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.fail;

/**
 * Ten thousand events with random priorities, delays, failures, duplicates and rolled-back transactions are delivered by the whole engine as a model of a few lines says ({@link DeliveryPlan}). A plan that is
 * not is made as short as time allows. {@code -Doutbox.delivery.seed} repeats a run, {@code -Doutbox.delivery.events} makes it longer or shorter. The store knows keys and priorities.
 */
@Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class DeliveryContract {

    static final int MAX_ATTEMPTS = 4;
    static final Duration BACKOFF = Duration.ofMillis(100);

    private static final int EVENTS = Integer.getInteger("outbox.delivery.events", 10_000);
    private static final int TRANSACTION = 20;
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Duration SHORTENING = Duration.ofSeconds(90);

    /** A fresh, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    @Test
    void what_was_written_is_delivered_as_the_model_says() throws SQLException {
        long seed = Long.getLong("outbox.delivery.seed", System.nanoTime());
        System.out.println(getClass().getSimpleName() + ": " + EVENTS + " events with -Doutbox.delivery.seed=" + seed);
        Random random = new Random(seed);
        List<DeliveryPlan.Step> steps = Stream.generate(() -> DeliveryPlan.Step.random(random))
                .limit(EVENTS)
                .toList();

        Optional<String> difference = differenceAfter(steps);

        if (difference.isPresent()) {
            report(seed, steps, difference.get());
        }
    }

    /** Leaves out parts, from halves down to single events, as long as something still differs. */
    private void report(long seed, List<DeliveryPlan.Step> all, String first) throws SQLException {
        long start = System.nanoTime();
        List<DeliveryPlan.Step> shortest = all;
        String what = first;
        for (int part = Math.max(1, all.size() / 2); part >= 1; part /= 2) {
            for (int from = 0; from < shortest.size(); ) {
                if (System.nanoTime() - start > SHORTENING.toNanos()) {
                    part = 0;
                    break;
                }
                List<DeliveryPlan.Step> fewer = new ArrayList<>(shortest);
                fewer.subList(from, Math.min(from + part, fewer.size())).clear();
                Optional<String> difference = differenceAfter(fewer);
                if (difference.isPresent()) {
                    shortest = fewer;
                    what = difference.get();
                } else {
                    from += part;
                }
            }
        }
        fail("Seed " + seed + ", with " + shortest.size() + " events: " + what + "\n"
                + shortest.stream().limit(50).map(step -> "    " + step).collect(Collectors.joining("\n")));
    }

    private Optional<String> differenceAfter(List<DeliveryPlan.Step> steps) throws SQLException {
        StoreFixture db = createFixture();
        DeliveryPlan plan = new DeliveryPlan(steps);
        Optional<String> written = write(db, plan);
        if (written.isPresent()) {
            return written;
        }
        deliver(db, plan);
        return plan.difference(db.all());
    }

    private static Optional<String> write(StoreFixture db, DeliveryPlan plan) {
        StepTx tx = new StepTx();
        OutboxWriter writer = new OutboxWriter(tx, db.store());
        for (int from = 0; from < plan.size(); from += TRANSACTION) {
            int to = Math.min(plan.size(), from + TRANSACTION);
            List<EventEnvelope> events = plan.envelopes(from, to);
            boolean rolledBack = plan.isRolledBack(from);
            List<String> ids = tx.in(db, rolledBack, () -> writer.writeAll(events));
            List<String> expected = plan.written(from, to, rolledBack);
            if (!ids.equals(expected)) {
                return Optional.of("ids of a write: expected " + expected + " but was " + ids);
            }
        }
        return Optional.empty();
    }

    private static void deliver(StoreFixture db, DeliveryPlan plan) {
        try (OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                        .connectionProvider(db.dataSource()::getConnection)
                        .eventStore(db.store())
                        .listenerRegistry(new DefaultListenerRegistry().register(DeliveryPlan.TYPE, plan::deliver))
                        .retryPolicy(RetryPolicies.fixed(BACKOFF))
                        .maxAttempts(MAX_ATTEMPTS)
                        .coldQueueCapacity(200)
                        .build();
                OutboxPoller poller = OutboxPoller.builder()
                        .connectionProvider(db.dataSource()::getConnection)
                        .eventStore(db.store())
                        .handler(new DispatcherPollerHandler(dispatcher))
                        .batchSize(100)
                        .intervalMs(1000)
                        .build()) {
            poller.start();
            await().atMost(PATIENCE)
                    .pollInterval(Duration.ofMillis(100))
                    .until(() -> plan.hasRunAll() && db.count("status IN (0, 2)") == 0);
        }
    }
}
