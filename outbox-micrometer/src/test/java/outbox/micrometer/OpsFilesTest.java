package outbox.micrometer;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.yaml.snakeyaml.Yaml;
import outbox.testing.metrics.Scrape;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The dashboard, the alert rules and the metrics page name only meters that a running outbox has. A renamed meter
 * fails this test before it breaks an alert.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@NullUnmarked // values that are read from files
class OpsFilesTest {

    private static final Path ROOT = Path.of("..");
    private static final Path DASHBOARD = ROOT.resolve("ops/grafana/outbox.json");
    private static final Path ALERTS = ROOT.resolve("ops/prometheus/outbox-alerts.yml");
    private static final Path PAGE = ROOT.resolve("docs/reference/metrics.md");

    private static final Pattern METRIC = Pattern.compile("\\b(?:outbox|reconcile)_[a-z_]+\\b");
    private static final Pattern MATCHED_LABEL = Pattern.compile("([a-z_]+)\\s*(?:=~|!~|!=|=)\\s*\"");
    private static final Pattern GROUPED_LABELS = Pattern.compile("\\b(?:by|without|on|ignoring)\\s*\\(([^)]*)\\)");
    private static final Pattern ASKED_LABEL = Pattern.compile("label_values\\(.*,\\s*([a-z_]+)\\)");
    private static final Pattern PLACEHOLDER = Pattern.compile("\\$labels\\.([a-z_]+)|\\{\\{([a-z_]+)}}");
    private static final Pattern ROW =
            Pattern.compile("^\\| `((?:outbox|reconcile)_[a-z_]+)(?:\\{([a-z, ]*)})?` \\|.*");
    private static final Set<String> OF_PROMETHEUS = Set.of("instance", "job", "exported_job");
    private static final Set<String> PARTS_OF_HISTOGRAM = Set.of("_bucket", "_count", "_sum", "_max");

    private static RunningOutbox outbox;
    private static Scrape scrape;

    @BeforeAll
    static void runAnOutbox() {
        outbox = new RunningOutbox("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
        outbox.write("good");
        outbox.write("bad");
        outbox.meters.recordReconciled("orders", 1); // as a reconciler does
        await().untilAsserted(() -> assertThat(outbox.scrape().names())
                .contains(
                        "outbox_dead_total",
                        "outbox_breaker_state",
                        "outbox_limit_waiting",
                        "outbox_since_poll_seconds",
                        "outbox_since_purge_seconds"));
        scrape = outbox.scrape();
    }

    @AfterAll
    static void stop() {
        outbox.close();
    }

    @Test
    void every_panel_of_the_dashboard_shows_what_exists() throws IOException {
        List<String> expressions = new ArrayList<>();
        visit(load(DASHBOARD), (key, value) -> {
            if (Set.of("expr", "query", "definition").contains(key)
                    && value.toString().contains("outbox_")) {
                expressions.add(value.toString());
            }
        });

        assertThat(expressions).hasSizeGreaterThan(30);
        assertThat(expressions).allSatisfy(OpsFilesTest::assertExists);
    }

    @Test
    void every_panel_has_a_query_and_a_legend_of_labels_that_it_keeps() throws IOException {
        Map<String, Object> dashboard = load(DASHBOARD);
        for (Map<String, Object> panel : list(dashboard, "panels")) {
            if (!"row".equals(panel.get("type"))) {
                assertThat(list(panel, "targets"))
                        .as("%s", panel.get("title"))
                        .isNotEmpty()
                        .allSatisfy(target ->
                                assertPlaceholders((String) target.get("expr"), (String) target.get("legendFormat")));
            }
        }
        assertThat(list(dashboard, "panels"))
                .extracting(panel -> panel.get("id"))
                .doesNotHaveDuplicates();
    }

    @Test
    void every_alert_watches_what_exists_and_says_what_to_do() throws IOException {
        List<Map<String, Object>> rules = list(list(load(ALERTS), "groups").get(0), "rules");

        assertThat(rules).hasSizeGreaterThan(10).allSatisfy(rule -> {
            String expression = (String) rule.get("expr");
            assertExists(expression);
            assertThat(map(rule, "labels").get("severity")).isIn("page", "warn", "info");
            assertThat(map(rule, "annotations")).containsOnlyKeys("summary", "description");
            assertPlaceholders(expression, map(rule, "annotations").values().toString());
        });
        assertThat(rules).extracting(rule -> rule.get("alert")).doesNotHaveDuplicates();
    }

    @Test
    void the_page_about_metrics_lists_exactly_what_is_shown_and_names_every_alert() throws IOException {
        Map<String, Set<String>> documented = Files.readAllLines(PAGE).stream()
                .map(ROW::matcher)
                .filter(Matcher::matches)
                .collect(Collectors.toMap(row -> row.group(1), row -> labelList(row.group(2))));

        Map<String, Set<String>> shown = scrape.names().stream()
                .collect(
                        Collectors.toMap(OpsFilesTest::family, OpsFilesTest::labelsWithoutBuckets, (one, same) -> one));
        assertThat(documented).containsExactlyInAnyOrderEntriesOf(shown);
        assertThat(Files.readString(PAGE))
                .contains(list(list(load(ALERTS), "groups").get(0), "rules").stream()
                        .map(rule -> "`" + rule.get("alert") + "`")
                        .toList());
    }

    @Test
    void no_label_is_of_unbounded_cardinality() {
        Set<String> labels = scrape.names().stream()
                .flatMap(name -> scrape.labelsOf(name).stream())
                .collect(Collectors.toCollection(TreeSet::new));

        assertThat(labels)
                .containsExactly("breaker", "job", "le", "limit", "queue", "result", "state", "table", "topic");
    }

    private static void assertExists(String expression) {
        Set<String> metrics =
                METRIC.matcher(expression).results().map(found -> found.group()).collect(Collectors.toSet());
        assertThat(metrics).as(expression).isNotEmpty().isSubsetOf(scrape.names());
        Set<String> labels = metrics.stream()
                .flatMap(name -> scrape.labelsOf(name).stream())
                .collect(Collectors.toCollection(() -> new HashSet<>(OF_PROMETHEUS)));
        assertThat(usedLabels(expression)).as(expression).isSubsetOf(labels);
        assertThat(expression.chars().filter(c -> c == '(').count())
                .as(expression)
                .isEqualTo(expression.chars().filter(c -> c == ')').count());
    }

    private static Set<String> usedLabels(String expression) {
        Set<String> used = groupedLabels(expression);
        MATCHED_LABEL.matcher(expression).results().forEach(label -> used.add(label.group(1)));
        ASKED_LABEL.matcher(expression).results().forEach(label -> used.add(label.group(1)));
        return used;
    }

    private static Set<String> groupedLabels(String expression) {
        Set<String> grouped = new HashSet<>();
        GROUPED_LABELS.matcher(expression).results().forEach(labels -> grouped.addAll(labelList(labels.group(1))));
        return grouped;
    }

    /** Checks placeholders: a label that was aggregated away would be empty in the text. */
    private static void assertPlaceholders(String expression, String text) {
        Set<String> named = PLACEHOLDER
                .matcher(text)
                .results()
                .map(label -> label.group(1) != null ? label.group(1) : label.group(2))
                .collect(Collectors.toSet());
        assertThat(named).as(expression).isSubsetOf(groupedLabels(expression));
    }

    private static Set<String> labelList(String labels) {
        return labels == null
                ? Set.of()
                : Arrays.stream(labels.split(","))
                        .map(String::strip)
                        .filter(label -> !label.isEmpty())
                        .collect(Collectors.toSet());
    }

    /** Maps the series of a histogram to one name, as on the page. */
    private static String family(String name) {
        return name.startsWith("outbox_dispatch_latency_seconds")
                ? PARTS_OF_HISTOGRAM.stream()
                        .filter(name::endsWith)
                        .findFirst()
                        .map(part -> name.substring(0, name.length() - part.length()))
                        .orElse(name)
                : name;
    }

    private static Set<String> labelsWithoutBuckets(String name) {
        Set<String> labels = new HashSet<>(scrape.labelsOf(name));
        labels.remove("le");
        return labels;
    }

    @SuppressWarnings("unchecked")
    private static void visit(Object node, BiConsumer<String, Object> leaf) {
        if (node instanceof Map<?, ?> map) {
            ((Map<String, Object>) map).forEach((key, value) -> {
                if (value instanceof Map || value instanceof List) {
                    visit(value, leaf);
                } else if (value != null) {
                    leaf.accept(key, value);
                }
            });
        } else if (node instanceof List<?> list) {
            list.forEach(element -> visit(element, leaf));
        }
    }

    private static Map<String, Object> load(Path file) throws IOException {
        return new Yaml().load(Files.readString(file)); // JSON is YAML too
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> list(Map<String, Object> parent, String key) {
        return (List<Map<String, Object>>) parent.get(key);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Map<String, Object> parent, String key) {
        return (Map<String, Object>) parent.get(key);
    }
}
