package outbox.benchmarks;

import outbox.benchmarks.Results.Spread;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Writes the results: a Markdown page, a chart, and all figures as CSV. */
final class Report {
    private final Options options;
    private final Product product;
    private final String version;
    private final String settings;
    private final Results results;
    private final List<Workload> workloads;

    Report(Options options, Product product, String version, String settings, Results results) {
        this.options = options;
        this.product = product;
        this.version = version;
        this.settings = settings;
        this.results = results;
        workloads = Workloads.of(options.sizes());
    }

    Path file() {
        return options.out().resolve(product.id() + ".md");
    }

    void write() throws IOException {
        Files.createDirectories(options.out());
        Files.writeString(file(), page());
        Files.writeString(options.out().resolve(product.id() + ".csv"), csv());
        Files.writeString(options.out().resolve(product.id() + ".svg"), new Chart(product, workloads, results).svg());
    }

    private String page() {
        List<String> parts = new ArrayList<>();
        parts.add("# Measured on " + product.title() + " " + version);
        if (options.quick()) {
            parts.add(
                    "**A smoke run with small sizes: it shows that everything works, and its figures mean nothing.**");
        }
        parts.add(conditions());
        parts.add("![Throughput against raw JDBC](%s.svg)".formatted(product.id()));
        parts.add("## Bars\n\n" + Acceptance.table(product, results).strip());
        for (Workload workload : workloads) {
            String table = table(workload);
            if (!table.isEmpty()) {
                parts.add("## %s: %s\n\n%s".formatted(workload.id(), workload.title(), table));
            }
        }
        parts.add("## Contenders\n\n" + descriptions());
        String notes = notes();
        if (!notes.isEmpty()) {
            parts.add("## Notes\n\n" + notes);
        }
        return String.join("\n\n", parts) + "\n";
    }

    private String conditions() {
        Runtime runtime = Runtime.getRuntime();
        return """
                Median of %d rounds, with the range; **×** is the median of the ratios within each round. Client and server share \
                the machine. Contenders take turns, each measurement on a fresh database and a fresh pool of %d connections, which \
                writers and delivery share. Per event: commits, statements (without BEGIN and COMMIT) and bytes of log, business \
                transaction included, as the server counts them. Every contender is warmed up before the first round and by a short run before \
                each measurement, in W1 also within it, by transactions that do not count for the rate. Take no difference below 15 %% for a difference.

                - Command: `%s`
                - Commit: %s
                - Machine: %d cores, %s, Java %s, heap %d MiB
                - Server: %s
                - Versions: %s""".formatted(
                        options.rounds(),
                        Plan.CONNECTIONS,
                        System.getProperty("outbox.benchmarks.command", "benchmarks/run"),
                        System.getProperty("outbox.benchmarks.commit", "unknown"),
                        runtime.availableProcessors(),
                        System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                        System.getProperty("java.version"),
                        runtime.maxMemory() >> 20,
                        settings,
                        versions());
    }

    private static String versions() {
        Properties versions = new Properties();
        try (InputStream file = Report.class.getResourceAsStream("versions.properties")) {
            versions.load(Objects.requireNonNull(file, "versions.properties"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new TreeMap<>(versions)
                .entrySet().stream()
                        .map(entry -> entry.getKey() + " " + entry.getValue())
                        .collect(Collectors.joining(", "));
    }

    private String table(Workload workload) {
        List<String> names = workload.contenders().stream()
                .filter(name -> results.has(workload.id(), name))
                .toList();
        if (names.isEmpty()) {
            return "";
        }
        List<String> lines = new ArrayList<>();
        if (workload instanceof Latency) {
            lines.add("| | p50 | p95 | p99 | max |");
            lines.add("|---|---:|---:|---:|---:|");
        } else {
            lines.add("| | per second | × | commits | statements | log bytes | duplicates | out of order |");
            lines.add("|---|---:|---:|---:|---:|---:|---:|---:|");
        }
        for (String name : names) {
            lines.add(workload instanceof Latency ? latencyRow(workload, name) : rateRow(workload, name));
        }
        for (String name : names) {
            String figures = ownFigures(workload, name);
            if (!figures.isEmpty()) {
                lines.add("\n`%s` also:\n%s".formatted(name, figures));
            }
        }
        return String.join("\n", lines);
    }

    /** Figures that only some workloads have, one line each. */
    private String ownFigures(Workload workload, String name) {
        return Arrays.stream(Metric.values())
                .filter(metric -> !metric.title().isEmpty())
                .filter(metric -> results.spread(workload.id(), name, metric).isKnown())
                .map(metric -> "- %s: %s".formatted(metric.title(), spread(workload, name, metric)))
                .collect(Collectors.joining("\n"));
    }

    private String latencyRow(Workload workload, String name) {
        return "| %s | %s | %s | %s | %s |"
                .formatted(
                        name,
                        spread(workload, name, Metric.P50),
                        spread(workload, name, Metric.P95),
                        spread(workload, name, Metric.P99),
                        spread(workload, name, Metric.MAX));
    }

    private String rateRow(Workload workload, String name) {
        Spread ratio = results.ratio(Metric.RATE, workload.id(), name, workload.id(), Contenders.LIMIT);
        return "| %s | %s | %s | %s | %s | %s | %s | %s |"
                .formatted(
                        name,
                        spread(workload, name, Metric.RATE),
                        Text.number(ratio.median()),
                        median(workload, name, Metric.COMMITS),
                        median(workload, name, Metric.STATEMENTS),
                        median(workload, name, Metric.LOG_BYTES),
                        count(workload, name, Metric.DUPLICATES),
                        count(workload, name, Metric.OUT_OF_ORDER));
    }

    private String spread(Workload workload, String name, Metric metric) {
        return Text.spread(results.spread(workload.id(), name, metric));
    }

    private String median(Workload workload, String name, Metric metric) {
        return Text.number(results.spread(workload.id(), name, metric).median());
    }

    /** Returns the value of the worst round. */
    private String count(Workload workload, String name, Metric metric) {
        double most = results.spread(workload.id(), name, metric).most();
        return Double.isFinite(most) ? "%,.0f".formatted(most) : "";
    }

    private String descriptions() {
        return Contenders.all().stream()
                .filter(contender ->
                        workloads.stream().anyMatch(workload -> results.has(workload.id(), contender.name())))
                .map(contender -> "- `%s`: %s".formatted(contender.name(), contender.description()))
                .collect(Collectors.joining("\n"));
    }

    private String notes() {
        return results.all().stream()
                .filter(measured -> !measured.note().isEmpty())
                .map(measured -> "- round %d, %s, %s: %s"
                        .formatted(measured.round(), measured.workload(), measured.contender(), measured.note()))
                .collect(Collectors.joining("\n"));
    }

    private String csv() {
        StringBuilder lines = new StringBuilder("round,workload,contender,metric,value\n");
        for (Measured measured : results.all()) {
            new TreeMap<>(measured.values())
                    .forEach((metric, value) -> lines.append("%d,%s,%s,%s,%.4f%n"
                            .formatted(measured.round(), measured.workload(), measured.contender(), metric, value)));
        }
        return lines.toString();
    }
}
