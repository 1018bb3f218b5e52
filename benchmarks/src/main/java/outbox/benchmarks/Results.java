package outbox.benchmarks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;

/**
 * All measurements of a run on one database. Ratios are computed within a round, between measurements that are close
 * in time. The result is the median of these ratios.
 */
final class Results {
    private final List<Measured> all = new ArrayList<>();

    void add(Measured measured) {
        all.add(measured);
    }

    List<Measured> all() {
        return List.copyOf(all);
    }

    boolean has(String workload, String contender) {
        return all.stream()
                .anyMatch(measured -> measured.workload().equals(workload)
                        && measured.contender().equals(contender)
                        && !measured.values().isEmpty());
    }

    /** Returns median, minimum and maximum of a figure over the rounds; NaN if there is none. */
    Spread spread(String workload, String contender, Metric metric) {
        return Spread.of(all.stream()
                .filter(measured -> measured.workload().equals(workload)
                        && measured.contender().equals(contender))
                .mapToDouble(measured -> measured.value(metric)));
    }

    /** Returns the ratios between a figure and the same figure of another workload or contender, round by round. */
    Spread ratio(Metric metric, String workload, String contender, String otherWorkload, String otherContender) {
        return ratio(metric, workload, contender, metric, otherWorkload, otherContender);
    }

    /** Returns the ratios between two different figures, round by round. */
    Spread ratio(
            Metric metric,
            String workload,
            String contender,
            Metric otherMetric,
            String otherWorkload,
            String otherContender) {
        return ratio(
                round -> value(metric, round, workload, contender),
                round -> value(otherMetric, round, otherWorkload, otherContender));
    }

    /** Returns the ratios between a figure and the largest one of the others in the same round. */
    Spread ratioToBest(Metric metric, String workload, String contender, Collection<String> others) {
        return ratio(
                round -> value(metric, round, workload, contender),
                round -> others.stream()
                        .mapToDouble(other -> value(metric, round, workload, other))
                        .filter(Double::isFinite)
                        .max()
                        .orElse(Double.NaN));
    }

    private Spread ratio(ToDoubleFunction<Integer> figure, ToDoubleFunction<Integer> reference) {
        return Spread.of(all.stream()
                .map(Measured::round)
                .distinct()
                .mapToDouble(round -> figure.applyAsDouble(round) / reference.applyAsDouble(round)));
    }

    private double value(Metric metric, int round, String workload, String contender) {
        return all.stream()
                .filter(measured -> measured.round() == round
                        && measured.workload().equals(workload)
                        && measured.contender().equals(contender))
                .mapToDouble(measured -> measured.value(metric))
                .findFirst()
                .orElse(Double.NaN);
    }

    /** A median with its range. */
    record Spread(double median, double least, double most) {

        static Spread of(DoubleStream values) {
            double[] sorted = values.filter(Double::isFinite).sorted().toArray();
            if (sorted.length == 0) {
                return new Spread(Double.NaN, Double.NaN, Double.NaN);
            }
            double median = (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
            return new Spread(median, sorted[0], sorted[sorted.length - 1]);
        }

        boolean isKnown() {
            return !Double.isNaN(median);
        }
    }
}
