package outbox.testing;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.model.EventStatus;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What is to become of events that are all written before the first is delivered: of those with one key the first that was committed is there, and each that is there runs until it does not fail, or too
 * often, never before its time.
 */
final class DeliveryPlan {

    static final String TYPE = "planned";

    private static final Duration TOLERANCE = Duration.ofMillis(50); // between the clocks that are compared
    private static final int MANY = 300; // enough for an average

    /** An event of the plan. */
    record Step(
            int priority,
            int delayMillis,
            int failures,
            @Nullable String key,
            boolean rollsBack) {

        static Step random(Random random) {
            return new Step(
                    random.nextInt(10),
                    random.nextInt(4) == 0 ? 1 + random.nextInt(3000) : 0,
                    random.nextInt(3) == 0 ? random.nextInt(DeliveryContract.MAX_ATTEMPTS + 2) : 0,
                    random.nextInt(4) == 0 ? "key " + random.nextInt(1500) : null,
                    random.nextInt(10) == 0);
        }
    }

    /** One run of the listener. */
    private record Run(int rank, long startNanos, long endNanos) {}

    private final List<Step> steps;
    private final Map<String, Integer> stored = new HashMap<>(); // event id → its step
    private final Map<String, String> holders = new HashMap<>(); // key → event id
    private final Map<Integer, Long> dueNanos = new HashMap<>();
    private final Map<String, List<Run>> runs = new ConcurrentHashMap<>(); // a list by one thread at a time
    private final AtomicInteger started = new AtomicInteger();

    DeliveryPlan(List<Step> steps) {
        this.steps = steps;
    }

    int size() {
        return steps.size();
    }

    boolean isRolledBack(int from) {
        return steps.get(from).rollsBack();
    }

    private static String id(int index) {
        return "planned-%06d".formatted(index);
    }

    List<EventEnvelope> envelopes(int from, int to) {
        List<EventEnvelope> envelopes = new ArrayList<>();
        for (int i = from; i < to; i++) {
            Step step = steps.get(i);
            EventEnvelope.Builder event =
                    EventEnvelope.builder(TYPE).eventId(id(i)).payloadJson("{}").priority(step.priority());
            if (step.delayMillis() > 0) {
                event.deliverAfter(Duration.ofMillis(step.delayMillis()));
            }
            if (step.key() != null) {
                event.dedupKey(step.key());
            }
            dueNanos.put(
                    i, System.nanoTime() + Duration.ofMillis(step.delayMillis()).toNanos());
            envelopes.add(event.build());
        }
        return envelopes;
    }

    /** The ids that the write answers. */
    List<String> written(int from, int to, boolean rolledBack) {
        Map<String, String> before = Map.copyOf(holders);
        List<String> ids = new ArrayList<>();
        for (int i = from; i < to; i++) {
            String key = steps.get(i).key();
            String holder = key == null ? null : holders.putIfAbsent(key, id(i));
            ids.add(holder == null ? id(i) : holder);
            if (holder == null && !rolledBack) {
                stored.put(id(i), i);
            }
        }
        if (rolledBack) {
            holders.keySet().retainAll(before.keySet());
        }
        return ids;
    }

    /** The listener. */
    void deliver(EventEnvelope event) {
        int rank = started.getAndIncrement();
        long start = System.nanoTime();
        Integer index = stored.get(event.eventId());
        List<Run> before = runs.computeIfAbsent(event.eventId(), any -> new ArrayList<>());
        boolean fails;
        synchronized (before) {
            fails = index != null && before.size() < steps.get(index).failures();
            before.add(new Run(rank, start, System.nanoTime()));
        }
        if (fails) {
            throw new IllegalStateException("as planned");
        }
    }

    boolean hasRunAll() {
        return runs.size() >= stored.size();
    }

    private static int runsOf(Step step) {
        return Math.min(step.failures() + 1, DeliveryContract.MAX_ATTEMPTS);
    }

    Optional<String> difference(Map<String, StoreFixture.PlacedRow> rows) {
        if (!rows.keySet().equals(stored.keySet())) {
            return Optional.of("events: expected " + stored.size() + " but was " + rows.size());
        }
        if (!stored.keySet().containsAll(runs.keySet())) {
            return Optional.of("an event was delivered that is not there");
        }
        for (Map.Entry<String, Integer> entry : stored.entrySet()) {
            String difference = difference(
                    entry.getValue(),
                    Objects.requireNonNull(rows.get(entry.getKey())).row(),
                    runs.getOrDefault(entry.getKey(), List.of()));
            if (difference != null) {
                return Optional.of(entry.getKey() + " " + steps.get(entry.getValue()) + ": " + difference);
            }
        }
        return urgentFirst();
    }

    private @Nullable String difference(int index, StoreFixture.Row row, List<Run> some) {
        Step step = steps.get(index);
        boolean dies = step.failures() >= DeliveryContract.MAX_ATTEMPTS;
        int failed = Math.min(step.failures(), DeliveryContract.MAX_ATTEMPTS);
        if (some.size() != runsOf(step)) {
            return "expected " + runsOf(step) + " runs but there were " + some.size();
        }
        if (row.status() != (dies ? EventStatus.DEAD : EventStatus.DONE) || row.attempts() != failed) {
            return "expected " + (dies ? "DEAD" : "DONE") + " after " + failed + " failures but was " + row;
        }
        long earliest = Objects.requireNonNull(dueNanos.get(index));
        for (Run run : some) {
            if (run.startNanos() + TOLERANCE.toNanos() < earliest) {
                return "a run began " + Duration.ofNanos(earliest - run.startNanos()) + " too early";
            }
            earliest = run.endNanos() + DeliveryContract.BACKOFF.toNanos();
        }
        return null;
    }

    /** Of what was due from the start: how early an event came follows from its priority, on average. */
    private Optional<String> urgentFirst() {
        double urgent = averageRank(9);
        double plain = averageRank(0);
        return urgent < plain || Double.isNaN(urgent) || Double.isNaN(plain)
                ? Optional.empty()
                : Optional.of(
                        "events of priority 9 came at " + urgent + " on average, those of priority 0 at " + plain);
    }

    private double averageRank(int priority) {
        List<Integer> ranks = new ArrayList<>();
        stored.forEach((id, index) -> {
            Step step = steps.get(index);
            if (step.priority() == priority && step.delayMillis() == 0) {
                ranks.add(Objects.requireNonNull(runs.get(id)).get(0).rank());
            }
        });
        return ranks.size() < MANY
                ? Double.NaN
                : ranks.stream().mapToInt(Integer::intValue).average().orElse(Double.NaN);
    }
}
