package outbox.benchmarks;

/**
 * The work of the server since its start, or between two readings.
 *
 * @param commits transactions that ended with a commit
 * @param statements statements that read or change rows; neither BEGIN nor COMMIT
 * @param logBytes bytes of write-ahead log
 */
record ServerCounters(long commits, long statements, long logBytes) {

    ServerCounters minus(ServerCounters earlier) {
        return new ServerCounters(
                commits - earlier.commits, statements - earlier.statements, logBytes - earlier.logBytes);
    }

    /** Subtracts the queries of the benchmark itself. Each of them is one statement and one commit. */
    ServerCounters withoutProbes(int probes) {
        return new ServerCounters(commits - probes, statements - probes, logBytes);
    }
}
