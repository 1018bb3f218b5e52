package outbox.testing.contract;

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
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The expected delivery of events in two waves. All events of a wave are written before the first of them is
 * delivered. Of the events with the same key, only the first committed one is stored. A key becomes free when its
 * event is dead, or when its event is delivered and does not keep the key. Each stored event runs until an attempt
 * succeeds or the maximum of attempts is reached: never before its due time, and never again afterwards. Events that
 * are due at once run by priority, and older ones first.
 */
final class DeliveryPlan {

    static final String TYPE = "planned";

    // the clocks that are compared may differ by this
    private static final Duration TOLERANCE = Duration.ofMillis(10);
    private static final int MANY = 300; // enough events for a meaningful average
    // the priority queues of a node alone do not reach this ratio if claims ignore priorities
    private static final double CLEARLY = 0.9;
    private static final Duration KEEPS = Duration.ofHours(1);

    /** An event of the plan. */
    record Step(
            int priority,
            int delayMillis,
            int failures,
            @Nullable String key,
            boolean keepsKey,
            boolean isLater,
            boolean rollsBack) {

        static Step random(Random random) {
            return new Step(
                    random.nextInt(10),
                    random.nextInt(4) == 0 ? 1 + random.nextInt(3000) : 0,
                    random.nextInt(3) == 0 ? random.nextInt(DeliveryCheck.MAX_ATTEMPTS + 2) : 0,
                    random.nextInt(4) == 0 ? "key " + random.nextInt(1500) : null,
                    random.nextBoolean(),
                    random.nextInt(4) == 0,
                    random.nextInt(10) == 0);
        }

        boolean dies() {
            return failures >= DeliveryCheck.MAX_ATTEMPTS;
        }
    }

    /** One run of the listener. */
    private record Run(int rank, long startNanos, long endNanos) {}

    private final List<Step> steps;
    private final Map<String, Integer> stored = new HashMap<>(); // event id → index of its step
    private final Map<String, String> holders = new HashMap<>(); // key → event id
    private final Map<Integer, Long> dueNanos = new HashMap<>();
    private final Map<String, List<Run>> runs = new ConcurrentHashMap<>(); // each list is guarded by itself
    private final AtomicInteger started = new AtomicInteger();

    DeliveryPlan(List<Step> steps) {
        this.steps = steps;
    }

    /** Returns the indexes of the events in each wave. */
    List<List<Integer>> waves() {
        Map<Boolean, List<Integer>> waves = IntStream.range(0, steps.size())
                .boxed()
                .collect(Collectors.partitioningBy(i -> steps.get(i).isLater()));
        return List.of(Objects.requireNonNull(waves.get(false)), Objects.requireNonNull(waves.get(true)));
    }

    /** Call this when all events of the wave have ended. Releases the keys that their events do not keep. */
    void endWave() {
        holders.values().removeIf(id -> {
            Step step = steps.get(Objects.requireNonNull(stored.get(id)));
            return step.dies() || !step.keepsKey();
        });
    }

    boolean isRolledBack(int first) {
        return steps.get(first).rollsBack();
    }

    private static String id(int index) {
        return "planned-%06d".formatted(index);
    }

    List<EventEnvelope> envelopes(List<Integer> some) {
        List<EventEnvelope> envelopes = new ArrayList<>();
        for (int i : some) {
            Step step = steps.get(i);
            EventEnvelope.Builder event =
                    EventEnvelope.builder(TYPE).eventId(id(i)).payloadJson("{}").priority(step.priority());
            if (step.delayMillis() > 0) {
                event.deliverAfter(Duration.ofMillis(step.delayMillis()));
            }
            if (step.key() != null) {
                event.dedupKey(step.key());
                if (step.keepsKey()) {
                    event.dedupFor(KEEPS);
                }
            }
            dueNanos.put(
                    i, System.nanoTime() + Duration.ofMillis(step.delayMillis()).toNanos());
            envelopes.add(event.build());
        }
        return envelopes;
    }

    /** Records a write and returns the ids that it must return. */
    List<String> written(List<Integer> some, boolean rolledBack) {
        Map<String, String> before = Map.copyOf(holders);
        List<String> ids = new ArrayList<>();
        for (int i : some) {
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

    /** The listener: fails as often as the plan says. */
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

    int runs() {
        return started.get();
    }

    private static int runsOf(Step step) {
        return Math.min(step.failures() + 1, DeliveryCheck.MAX_ATTEMPTS);
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
        boolean dies = step.dies();
        int failed = Math.min(step.failures(), DeliveryCheck.MAX_ATTEMPTS);
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
            earliest = run.endNanos() + DeliveryCheck.BACKOFF.toNanos();
        }
        return null;
    }

    /**
     * Checks the order of the events that were due at once: on average, a higher priority runs earlier, and within a
     * priority the older events run earlier. Compares groups of three priorities, because the difference between
     * neighbouring priorities is too small: a part of every claim ignores priority and goes by age.
     */
    private Optional<String> urgentFirst() {
        List<Integer> before = List.of();
        for (int least : List.of(7, 4, 1)) {
            int most = least + 2;
            List<Integer> ranks = ranks(least, most);
            if (!isEarlier(before, ranks, CLEARLY)) {
                return Optional.of("events of priority " + least + " to " + most + " came at " + average(ranks)
                        + " on average, those above at " + average(before));
            }
            List<Integer> older = ranks.subList(0, ranks.size() / 2);
            List<Integer> newer = ranks.subList(ranks.size() / 2, ranks.size());
            if (!isEarlier(older, newer, 1)) {
                return Optional.of("the older half of the events of priority " + least + " to " + most + " came at "
                        + average(older) + " on average, the newer at " + average(newer));
            }
            before = ranks;
        }
        return Optional.empty();
    }

    /** Returns the positions at which events of the first wave ran, in the order in which they were written. */
    private List<Integer> ranks(int least, int most) {
        List<Integer> ranks = new ArrayList<>();
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            boolean isCounted = step.priority() >= least && step.priority() <= most && stored.containsKey(id(i));
            if (isCounted && step.delayMillis() == 0 && !step.isLater()) {
                ranks.add(Objects.requireNonNull(runs.get(id(i))).get(0).rank());
            }
        }
        return ranks;
    }

    /** Compares the averages. Also returns true if there are too few events to compare. */
    private static boolean isEarlier(List<Integer> some, List<Integer> others, double share) {
        return some.size() < MANY || others.size() < MANY || average(some) < share * average(others);
    }

    private static double average(List<Integer> ranks) {
        return ranks.stream().mapToInt(Integer::intValue).average().orElse(Double.NaN);
    }
}
