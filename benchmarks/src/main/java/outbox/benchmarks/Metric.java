package outbox.benchmarks;

/** A figure of a measurement. */
enum Metric {
    /** Transactions or events per second. In workloads with other events, only the plain events. */
    RATE,
    /** Milliseconds from commit to listener. */
    P50,
    P95,
    P99,
    MAX,
    /** Per event, including the business transaction. */
    COMMITS,
    STATEMENTS,
    LOG_BYTES,
    /** Total number. */
    DUPLICATES,
    OUT_OF_ORDER,
    /** For workloads with other events next to the plain ones. */
    ALL_RATE("events per second, plain ones and others"),
    HARMED("events that waited and lost an attempt or are DEAD"),
    REFUSED("calls that the destination refused while it was down"),
    FIRST_BACK("seconds from its return to the first delivery"),
    LAST_BACK("seconds from its return to the last delivery"),
    PROBES("calls at a time before the first delivery"),
    MOST_100_MS("calls at a time in the first 100 ms after it"),
    MOST_1_S("calls at a time in the first second after it");

    private final String title;

    Metric() {
        this("");
    }

    Metric(String title) {
        this.title = title;
    }

    /** Returns the description for figures that have their own line in the report, otherwise an empty text. */
    String title() {
        return title;
    }
}
