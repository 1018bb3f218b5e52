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
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What is to become of events in two waves, each written before the first of it is delivered: of those with one key the first that was committed is there, and each that is there runs until it does not fail,
 * or too often, never before its time and never again. A key is free once its event is dead, or delivered without keeping it. Those that are due at once come by priority, and the earlier before the later.
 */
final class DeliveryPlan {

    static final String TYPE = "planned";

    private static final Duration TOLERANCE = Duration.ofMillis(10); // between the clocks that are compared
    private static final int MANY = 300; // enough for an average
    private static final double CLEARLY =
            0.9; // the queues of a node alone, if claims had no priorities, do not get there
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
    private final Map<String, Integer> stored = new HashMap<>(); // event id → its step
    private final Map<String, String> holders = new HashMap<>(); // key → event id
    private final Map<Integer, Long> dueNanos = new HashMap<>();
    private final Map<String, List<Run>> runs = new ConcurrentHashMap<>(); // a list by one thread at a time
    private final AtomicInteger started = new AtomicInteger();

    DeliveryPlan(List<Step> steps) {
        this.steps = steps;
    }

    /** The events of each wave, by their number. */
    List<List<Integer>> waves() {
        Map<Boolean, List<Integer>> waves = IntStream.range(0, steps.size())
                .boxed()
                .collect(Collectors.partitioningBy(i -> steps.get(i).isLater()));
        return List.of(Objects.requireNonNull(waves.get(false)), Objects.requireNonNull(waves.get(true)));
    }

    /** All that was written has ended. */
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

    /** The ids that the write answers. */
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
     * Of what was due from the start: how early events came follows from their priority, and among like ones from their due time, on average. Neighbouring priorities are too close to tell, since a share of
     * all goes by age.
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

    /** When events of the first wave came, in the order in which they were written. */
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

    /** Also if they are too few to tell. */
    private static boolean isEarlier(List<Integer> some, List<Integer> others, double share) {
        return some.size() < MANY || others.size() < MANY || average(some) < share * average(others);
    }

    private static double average(List<Integer> ranks) {
        return ranks.stream().mapToInt(Integer::intValue).average().orElse(Double.NaN);
    }
}
