package outbox.benchmarks;

import java.util.Map;

/**
 * The outcome of one measurement.
 *
 * @param note what a reader must know about it, such as that it was capped; empty if nothing
 */
record Measured(String workload, String contender, int round, Map<Metric, Double> values, String note) {

    /** A measurement that could not be made, and why. */
    static Measured failed(String workload, String contender, int round, Throwable cause) {
        return new Measured(workload, contender, round, Map.of(), "failed: " + cause);
    }

    /** The figure; NaN if there is none. */
    double value(Metric metric) {
        return values.getOrDefault(metric, Double.NaN);
    }
}
