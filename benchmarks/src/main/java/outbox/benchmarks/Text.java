package outbox.benchmarks;

import outbox.benchmarks.Results.Spread;

/** Formats numbers for people. */
final class Text {
    private Text() {}

    /** Formats with three significant digits. */
    static String number(double value) {
        if (!Double.isFinite(value)) {
            return "";
        }
        double size = Math.abs(value);
        if (size >= 100) {
            return "%,.0f".formatted(value);
        }
        return size >= 10 ? "%.1f".formatted(value) : "%.2f".formatted(value);
    }

    /** Formats the median, and the range if there is one. */
    static String spread(Spread spread) {
        if (!spread.isKnown()) {
            return "";
        }
        return spread.least() == spread.most()
                ? number(spread.median())
                : "%s (%s–%s)".formatted(number(spread.median()), number(spread.least()), number(spread.most()));
    }

    static String progress(Measured measured) {
        StringBuilder line = new StringBuilder(
                "round %d  %-5s %-17s".formatted(measured.round(), measured.workload(), measured.contender()));
        double rate = measured.value(Metric.RATE);
        if (Double.isFinite(rate)) {
            line.append(" %9s/s".formatted(number(rate)));
            line.append("  %s commits, %s statements, %s log bytes per event"
                    .formatted(
                            number(measured.value(Metric.COMMITS)),
                            number(measured.value(Metric.STATEMENTS)),
                            number(measured.value(Metric.LOG_BYTES))));
        }
        if (Double.isFinite(measured.value(Metric.P50))) {
            line.append("  p50 %s, p95 %s, p99 %s, max %s ms"
                    .formatted(
                            number(measured.value(Metric.P50)),
                            number(measured.value(Metric.P95)),
                            number(measured.value(Metric.P99)),
                            number(measured.value(Metric.MAX))));
        }
        for (Metric metric : Metric.values()) {
            if (!metric.title().isEmpty() && Double.isFinite(measured.value(metric))) {
                line.append("%n    %s: %s".formatted(metric.title(), number(measured.value(metric))));
            }
        }
        if (measured.value(Metric.DUPLICATES) > 0) {
            line.append("  %.0f duplicates".formatted(measured.value(Metric.DUPLICATES)));
        }
        return measured.note().isEmpty() ? line.toString() : line + "  " + measured.note();
    }
}
