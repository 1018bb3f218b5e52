package outbox.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** The workloads by their ids. */
final class Workloads {
    private static final Duration CAP = Duration.ofSeconds(60);
    // a drain has a constant rate, which is known by then
    private static final Duration DRAIN_CAP = Duration.ofSeconds(20);
    private static final int SLOW_WORKERS = 64;
    private static final int SLOW_MILLIS = 20;

    private static final int EVERY = 20; // plain events per event with delivery control

    private static final List<String> OURS = List.of("outbox");
    private static final List<String> CONTROL = List.of("outbox-control");
    private static final List<String> OURS_TWICE = concat(CONTROL, OURS);
    private static final List<String> OURS_AND_PEERS = concat(OURS, Contenders.peers());
    private static final List<String> OURS_TWICE_AND_PEERS = concat(CONTROL, OURS_AND_PEERS);
    private static final List<String> LIMITS = List.of("limit-update", "limit-delete", "limit-pipelined");
    private static final List<String> ALL = concat(LIMITS, concat(List.of("outbox-delete"), OURS_TWICE_AND_PEERS));
    private static final List<String> VIRTUAL =
            Runtime.version().feature() >= 21 ? List.of("outbox-virtual") : List.of();

    private Workloads() {}

    /**
     * Returns the workloads in the order of a round. Workloads that are compared with each other are next to each
     * other. W7x1 repeats W2 close in time to the workloads that are compared with it.
     */
    static List<Workload> of(Sizes sizes) {
        Plan events = Plan.of(sizes.events(), sizes.aggregates());
        Plan ordered = events.inOrder();
        Plan slow = Plan.of(sizes.slowEvents(), sizes.aggregates()).withSlowListeners(SLOW_MILLIS, SLOW_WORKERS);
        return List.of(
                new WriteCost(
                        "W1",
                        "write cost: 8 writers, nothing delivered",
                        Plan.of(sizes.writes(), sizes.aggregates()),
                        sizes.writes() / 5,
                        concat(List.of("no-event", "limit-update"), OURS_TWICE_AND_PEERS)),
                endToEnd("W2", "end to end: 8 writers, until all events are done", events, ALL),
                new EndToEnd(
                        "W3",
                        "drain of a backlog of %,d events".formatted(sizes.backlog()),
                        Plan.of(sizes.backlog(), sizes.aggregates()),
                        true,
                        DRAIN_CAP,
                        ALL),
                new Latency(
                        "W4",
                        "milliseconds from commit to listener at 200 events/s",
                        200,
                        sizes.paceSeconds(),
                        Math.min(2, sizes.paceSeconds()),
                        concat(LIMITS, OURS_TWICE_AND_PEERS)),
                endToEnd(
                        "W8",
                        "W2 with listeners that take %d ms, %d at a time".formatted(SLOW_MILLIS, SLOW_WORKERS),
                        slow,
                        concat(VIRTUAL, OURS_AND_PEERS)),
                new DestinationDown(
                        "W11",
                        "W2 while %,d other events wait for a destination that is down".formatted(sizes.waiting()),
                        events,
                        sizes.waiting(),
                        CAP,
                        CONTROL),
                new Beside(
                        "W10",
                        "W2, and for %d plain events one that uses delivery control".formatted(EVERY),
                        events,
                        EVERY,
                        CAP,
                        CONTROL),
                endToEnd("W7x1", "W2 on one node", events, OURS_TWICE),
                endToEnd(
                        "W5",
                        "W2 in order per aggregate, %,d aggregates".formatted(sizes.aggregates()),
                        ordered,
                        List.of("limit-update", "outbox", "outbox-control", "outbox-delete", "namastack")),
                endToEnd("W9", "W5 with an aggregate that always fails", ordered.withFailingAggregate(), OURS_TWICE),
                endToEnd(
                        "W6",
                        "W2 beside %,d done events".formatted(sizes.history()),
                        events.withHistory(sizes.history()),
                        concat(List.of("limit-update"), OURS_TWICE)),
                endToEnd("W7x2", "W2 on two nodes", events.withNodes(2), OURS_TWICE),
                endToEnd("W7x4", "W2 on four nodes", events.withNodes(4), OURS_TWICE));
    }

    private static Workload endToEnd(String id, String title, Plan plan, List<String> contenders) {
        return new EndToEnd(id, title, plan, false, CAP, contenders);
    }

    private static List<String> concat(List<String> first, List<String> second) {
        return Stream.concat(first.stream(), second.stream()).toList();
    }
}
