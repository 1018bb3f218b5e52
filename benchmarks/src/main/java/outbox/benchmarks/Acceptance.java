package outbox.benchmarks;

import outbox.benchmarks.Results.Spread;

import java.util.ArrayList;
import java.util.List;

/** The performance targets of the library, and the measured results. */
final class Acceptance {
    private static final String OURS = Contenders.OURS;
    private static final String CONTROL = Contenders.CONTROL;
    private static final String LIMIT = Contenders.LIMIT;

    private static final String IN_USE = " with control in use";

    private Acceptance() {}

    /** A figure with its target, which is a lower or an upper bound. */
    private record Bar(String name, Spread figure, boolean atLeast, double bound) {

        static Bar atLeast(String name, Spread figure, double bound) {
            return new Bar(name, figure, true, bound);
        }

        static Bar atMost(String name, Spread figure, double bound) {
            return new Bar(name, figure, false, bound);
        }

        String verdict() {
            if (!figure.isKnown()) {
                return "not measured";
            }
            return (atLeast ? figure.median() >= bound : figure.median() <= bound) ? "pass" : "**missed**";
        }

        String row() {
            return "| %s | %s %s | %s | %s |"
                    .formatted(name, atLeast ? "≥" : "≤", Text.number(bound), Text.spread(figure), verdict());
        }
    }

    static String table(Product product, Results results) {
        List<String> lines = new ArrayList<>();
        lines.add("| bar | bound | measured: median (range) | |");
        lines.add("|---|---:|---:|---|");
        bars(product, results).forEach(bar -> lines.add(bar.row()));
        return String.join("\n", lines) + "\n";
    }

    private static List<Bar> bars(Product product, Results results) {
        List<Bar> bars = new ArrayList<>();
        switch (product) {
            case POSTGRESQL -> {
                bars.addAll(postgres(results, OURS, ""));
                bars.addAll(postgres(results, CONTROL, IN_USE));
            }
            case MARIADB -> {
                bars.addAll(mariaDb(results, OURS, ""));
                bars.addAll(mariaDb(results, CONTROL, IN_USE));
            }
        }
        bars.addAll(besideControl(product, results));
        return bars;
    }

    private static List<Bar> mariaDb(Results results, String ours, String which) {
        return List.of(
                Bar.atLeast("W2%s against raw JDBC".formatted(which), rate(results, "W2", ours, "W2", LIMIT), 0.8),
                Bar.atLeast("W3%s against raw JDBC".formatted(which), rate(results, "W3", ours, "W3", LIMIT), 0.7));
    }

    /**
     * Targets for plain events, once without other events and once in an outbox that also contains events with
     * delivery control.
     */
    private static List<Bar> postgres(Results results, String ours, String which) {
        List<String> peers = Contenders.peers();
        String base = base(results, ours);
        return List.of(
                Bar.atLeast(
                        "W1%s against raw JDBC with one insert per event".formatted(which),
                        rate(results, "W1", ours, "W1", LIMIT),
                        0.95),
                Bar.atLeast(
                        "W2%s against raw JDBC with grouped UPDATE".formatted(which),
                        rate(results, "W2", ours, "W2", LIMIT),
                        1.0),
                Bar.atLeast(
                        "W2%s against the best peer".formatted(which),
                        results.ratioToBest(Metric.RATE, "W2", ours, peers),
                        1.6),
                Bar.atMost("W2%s commits per event".formatted(which), results.spread("W2", ours, Metric.COMMITS), 1.25),
                Bar.atMost(
                        "W2%s statements per event".formatted(which),
                        results.spread("W2", ours, Metric.STATEMENTS),
                        2.3),
                Bar.atLeast(
                        "W3%s against raw claim by lease and grouped UPDATE".formatted(which),
                        rate(results, "W3", ours, "W3", LIMIT),
                        0.8),
                Bar.atLeast(
                        "W3%s against the best peer".formatted(which),
                        results.ratioToBest(Metric.RATE, "W3", ours, peers),
                        3),
                Bar.atMost(
                        "W4%s p50 against raw JDBC with two threads".formatted(which),
                        results.ratio(Metric.P50, "W4", ours, "W4", "limit-pipelined"),
                        2),
                Bar.atMost(
                        "W4%s p99 against raw JDBC with two threads".formatted(which),
                        results.ratio(Metric.P99, "W4", ours, "W4", "limit-pipelined"),
                        2),
                Bar.atLeast("W5%s ordered against W2".formatted(which), rate(results, "W5", ours, base, ours), 0.8),
                Bar.atMost("W5%s out of order".formatted(which), worst(results, "W5", ours, Metric.OUT_OF_ORDER), 0),
                Bar.atMost("W5%s duplicates".formatted(which), worst(results, "W5", ours, Metric.DUPLICATES), 0),
                Bar.atLeast("W6%s against W2".formatted(which), rate(results, "W6", ours, base, ours), 0.95),
                Bar.atMost(
                        "W6%s log bytes per event against W2".formatted(which),
                        results.ratio(Metric.LOG_BYTES, "W6", ours, base, ours),
                        1.05),
                Bar.atLeast(
                        "W7%s four nodes against one".formatted(which), rate(results, "W7x4", ours, "W7x1", ours), 0.9),
                Bar.atMost(
                        "W7%s duplicates on two nodes".formatted(which),
                        worst(results, "W7x2", ours, Metric.DUPLICATES),
                        0),
                Bar.atMost(
                        "W7%s duplicates on four nodes".formatted(which),
                        worst(results, "W7x4", ours, Metric.DUPLICATES),
                        0),
                Bar.atLeast(
                        "W9%s ordered, one aggregate fails, against W5".formatted(which),
                        rate(results, "W9", ours, "W5", ours),
                        0.9));
    }

    /**
     * All events together have the same targets as plain events alone. The plain events among them have a
     * proportional target.
     */
    private static List<Bar> besideControl(Product product, Results results) {
        String base = base(results, OURS);
        Spread all = results.ratio(Metric.ALL_RATE, "W10", CONTROL, Metric.RATE, base, OURS);
        Spread allToLimit = results.ratio(Metric.ALL_RATE, "W10", CONTROL, Metric.RATE, "W2", LIMIT);
        return List.of(
                Bar.atLeast("W2" + IN_USE + " against W2 without", rate(results, "W2", CONTROL, "W2", OURS), 0.95),
                Bar.atLeast("W5" + IN_USE + " against W2 without", rate(results, "W5", CONTROL, base, OURS), 0.8),
                Bar.atLeast("W10 all events against W2", all, 0.95),
                Bar.atLeast(
                        "W10 plain events, 20 of 21, against W2",
                        rate(results, "W10", CONTROL, base, OURS),
                        0.95 * 20 / 21),
                Bar.atLeast(
                        "W10 all events against raw JDBC in W2", allToLimit, product == Product.POSTGRESQL ? 1.0 : 0.8),
                Bar.atLeast(
                        "W11 plain events against raw JDBC in W2",
                        rate(results, "W11", CONTROL, "W2", LIMIT),
                        product == Product.POSTGRESQL ? 1.0 : 0.8),
                Bar.atLeast("W11 plain events against W2", rate(results, "W11", CONTROL, base, OURS), 0.95),
                Bar.atMost("W11 waiting events harmed", worst(results, "W11", CONTROL, Metric.HARMED), 0),
                Bar.atMost("W11 seconds to the first delivery", worst(results, "W11", CONTROL, Metric.FIRST_BACK), 6),
                Bar.atMost("W11 calls at a time before it", worst(results, "W11", CONTROL, Metric.PROBES), 1));
    }

    /** Returns the repetition of W2 that ran close in time, if it was measured, else W2. */
    private static String base(Results results, String ours) {
        return results.has("W7x1", ours) ? "W7x1" : "W2";
    }

    private static Spread rate(
            Results results, String workload, String contender, String otherWorkload, String otherContender) {
        return results.ratio(Metric.RATE, workload, contender, otherWorkload, otherContender);
    }

    /** Returns the worst round, for figures that must be within their target in every round. */
    private static Spread worst(Results results, String workload, String contender, Metric metric) {
        Spread spread = results.spread(workload, contender, metric);
        return new Spread(spread.most(), spread.most(), spread.most());
    }
}
