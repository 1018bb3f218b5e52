package outbox.benchmarks;

/** A figure of a measurement. */
enum Metric {
    /** Transactions or events per second. */
    RATE,
    /** Milliseconds from commit to listener. */
    P50,
    P95,
    P99,
    MAX,
    /** Per event, business transaction included. */
    COMMITS,
    STATEMENTS,
    LOG_BYTES,
    /** In all. */
    DUPLICATES,
    OUT_OF_ORDER
}
