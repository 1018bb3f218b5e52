package outbox.benchmarks;

/** The sizes of the workloads. */
record Sizes(
        int writes,
        int events,
        int backlog,
        int history,
        int aggregates,
        int slowEvents,
        int paceSeconds,
        int waiting) {
    static final Sizes FULL = new Sizes(20_000, 20_000, 50_000, 1_000_000, 1_000, 10_000, 10, 5_000);
    static final Sizes WARM_UP = new Sizes(20_000, 40_000, 15_000, 10_000, 1_000, 800, 1, 1_000);
    static final Sizes BRIEF = new Sizes(4_000, 8_000, 10_000, 10_000, 1_000, 800, 1, 500);
    static final Sizes QUICK = new Sizes(1_000, 1_600, 3_000, 10_000, 80, 800, 1, 500);
}
