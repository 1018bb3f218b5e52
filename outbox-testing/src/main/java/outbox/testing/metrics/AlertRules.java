package outbox.testing.metrics;

import outbox.testing.internal.Command;
import outbox.testing.internal.Unavailable;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A file with alert rules. Prometheus evaluates the rules over given samples. Requires {@code promtool} from the
 * package {@code prometheus}. Immutable.
 */
public final class AlertRules {
    private static final Path PROMTOOL = Path.of("/usr/bin/promtool");
    private static final String NAME = "__name__";

    private final Path file;

    private AlertRules(Path file) {
        this.file = file;
    }

    /**
     * Returns the rules of a file. If promtool is missing, the test is skipped, or fails if servers are required.
     */
    public static AlertRules of(Path file) {
        if (!Files.isExecutable(PROMTOOL)) {
            throw Unavailable.because(
                    "Prometheus", "there is no " + PROMTOOL, "Install the package prometheus of Debian or Ubuntu");
        }
        return new AlertRules(file);
    }

    /**
     * A query over series and the alerts that they raise, with the expected result.
     *
     * @param name shown in the failure message
     * @param series the input, by labels as {@link #labels} returns them; the values are in promtool notation, one
     *     for each interval
     * @param query the PromQL query; alerts are the series {@code ALERTS}
     * @param at the time of the query, counted from the first value
     * @param answer the expected samples in promtool notation; empty if the query must find nothing
     */
    public record Question(
            String name, Map<Map<String, String>, String> series, String query, Duration at, String answer) {

        /** Expects that no alert fires between the first value and this time. */
        public static Question silence(String name, Map<Map<String, String>, String> series, Duration until) {
            String query = "count_over_time(ALERTS{alertstate=\"firing\"}[%ds])".formatted(until.toSeconds() + 1);
            return new Question(name, series, query, until, "");
        }

        private String text(Duration interval) {
            StringBuilder lines = new StringBuilder();
            series.forEach((labels, values) -> lines.append("      - series: '")
                    .append(text(labels))
                    .append("'\n        values: '")
                    .append(values)
                    .append("'\n"));
            return """
                      - name: %s
                        interval: %ds
                        input_series:%s
                    %s    promql_expr_test:
                          - expr: '%s'
                            eval_time: %ds
                            exp_samples: [%s]
                    """.formatted(
                    name, interval.toSeconds(), series.isEmpty() ? " []" : "", lines, query, at.toSeconds(), answer);
        }

        private static String text(Map<String, String> labels) {
            String name = labels.getOrDefault(NAME, "");
            return labels.entrySet().stream()
                    .filter(label -> !label.getKey().equals(NAME))
                    .map(label -> label.getKey() + "=\"" + label.getValue().replace("'", "''") + "\"")
                    .collect(Collectors.joining(",", name + "{", "}"));
        }
    }

    /**
     * Returns the labels of a sample as Prometheus stores them. They include the metric name and the labels of the
     * scrape target. A label {@code job} of the sample becomes {@code exported_job}.
     */
    public static Map<String, String> labels(Scrape.Sample sample, String instance) {
        Map<String, String> labels = new TreeMap<>(sample.labels());
        String job = labels.put("job", "relays");
        if (job != null) {
            labels.put("exported_job", job);
        }
        labels.put("instance", instance);
        labels.put(NAME, sample.name());
        return labels;
    }

    /**
     * Returns a value in promtool notation. NaN becomes a missing sample, because no comparison is true for
     * NaN either.
     */
    public static String value(double value) {
        return Double.isNaN(value) ? "_" : BigDecimal.valueOf(value).toPlainString();
    }

    /**
     * Runs promtool with these questions.
     *
     * @param interval the time between two values of a series and between two evaluations of the rules;
     *     whole seconds
     * @param directory where to write the input file of promtool
     * @throws AssertionError with the output of promtool if a result differs from the expected one
     */
    public void check(Duration interval, List<Question> questions, Path directory) throws IOException {
        Path tests = directory.resolve("alert-rules.yml");
        Files.writeString(
                tests,
                "rule_files: ['%s']%nevaluation_interval: %ds%ntests:%n%s"
                        .formatted(
                                file.toAbsolutePath().normalize(),
                                interval.toSeconds(),
                                questions.stream()
                                        .map(question -> question.text(interval))
                                        .collect(Collectors.joining())));
        Command promtool = Command.run(PROMTOOL.toString(), "test", "rules", tests.toString());
        if (!promtool.succeeded()) {
            throw new AssertionError(promtool.output());
        }
    }
}
