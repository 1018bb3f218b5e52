package outbox.benchmarks;

import java.util.Map;

/**
 * The outcome of one measurement.
 *
 * @param note a remark for the reader, for example that the measurement was capped; may be empty
 */
record Measured(String workload, String contender, int round, Map<Metric, Double> values, String note) {

    /** A measurement that failed, and the reason. */
    static Measured failed(String workload, String contender, int round, Throwable cause) {
        return new Measured(workload, contender, round, Map.of(), "failed: " + cause);
    }

    /** Returns the figure, or NaN if there is none. */
    double value(Metric metric) {
        return values.getOrDefault(metric, Double.NaN);
    }
}
