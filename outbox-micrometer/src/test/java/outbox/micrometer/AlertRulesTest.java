package outbox.micrometer;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.yaml.snakeyaml.Yaml;
import outbox.testing.metrics.AlertRules;
import outbox.testing.metrics.AlertRules.Question;
import outbox.testing.metrics.Scrape;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Prometheus evaluates the alert rules over two and a half hours of samples of a running outbox. Without a fault, no
 * alert fires. Each alert has samples that differ in one fault and make it fire.
 *
 * <p>A fault names the series that it changes. The series must exist in the scrape, so a renamed meter fails this
 * test.
 */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@NullUnmarked // values that are read from files
@Tag("process")
class AlertRulesTest {

    private static final Path RULES = Path.of("..", "ops", "prometheus", "outbox-alerts.yml");
    private static final Duration LAST = Duration.ofHours(2); // the time at which the rules are checked
    private static final String FOR_TWO_HOURS = "x150";
    private static final String SINCE_FIVE_MINUTES = "0+0x114 1+0x36";
    private static final String GROWING = "0+1" + FOR_TWO_HOURS;
    private static final String GONE = "0+0x60 stale";

    private static final Map<Map<String, String>, String> healthy = new LinkedHashMap<>(); // labels → values

    @TempDir
    private Path directory;

    /** A change to the healthy samples, and the alert that must fire. */
    private record Fault(String alert, UnaryOperator<Map<Map<String, String>, String>> change) {}

    private static final List<Fault> FAULTS = List.of(
            fault("OutboxEventsDead", SINCE_FIVE_MINUTES, "outbox_dead_total"),
            fault("OutboxEventsDead", "_x114 3+0x36", "outbox_dead_total"),
            fault("OutboxBacklogOld", "0+60" + FOR_TWO_HOURS, "outbox_oldest_pending_age_seconds"),
            fault("OutboxOverdue", "0+60" + FOR_TWO_HOURS, "outbox_overdue_age_seconds"),
            fault("OutboxDeadEventsStay", "5+0" + FOR_TWO_HOURS, "outbox_dead_events"),
            new Fault("OutboxNoRelay", samples -> Map.of()),
            new Fault("OutboxNoRelay", samples -> {
                Map<Map<String, String>, String> changed = changed(samples, GONE, "outbox_since_poll_seconds");
                changed.keySet().removeIf(labels -> name(labels).equals("outbox_enqueue_total"));
                changed.put(Map.of("__name__", "outbox_since_poll_seconds", "table", "other"), "0+0x150");
                return changed;
            }),
            new Fault("OutboxNoRelay", samples -> {
                Map<Map<String, String>, String> changed = new LinkedHashMap<>(samples);
                changed.put(Map.of("__name__", "outbox_enqueue_total", "table", "other", "topic", "t"), GROWING);
                return changed;
            }),
            fault("OutboxNotPolled", "0+60" + FOR_TWO_HOURS, "outbox_since_poll_seconds"),
            fault("OutboxNoProgress", "7+0" + FOR_TWO_HOURS, "outbox_waiting"),
            fault("OutboxFailing", GROWING, "outbox_dispatch_total", "result", "failure"),
            fault(
                    "OutboxSlow",
                    "1000+10" + FOR_TWO_HOURS,
                    "outbox_dispatch_latency_seconds_bucket",
                    "result",
                    "success",
                    "le",
                    "+Inf"),
            fault("OutboxNoLeader", "0+0" + FOR_TWO_HOURS, "outbox_relay_leader"),
            new Fault("OutboxTwoLeaders", samples -> {
                Map<Map<String, String>, String> changed = new LinkedHashMap<>(samples);
                Map<String, String> second = new TreeMap<>(only(samples, "outbox_relay_leader"));
                second.put("instance", "node-2");
                changed.put(second, "1+0x150");
                return changed;
            }),
            fault("OutboxNoWorkers", "0+0" + FOR_TWO_HOURS, "outbox_workers_live"),
            fault("OutboxStuckListeners", SINCE_FIVE_MINUTES, "outbox_stuck_listeners_total"),
            fault("OutboxBreakerOpen", "1+0" + FOR_TWO_HOURS, "outbox_breaker_state", "state", "open"),
            fault("OutboxMarkFailures", GROWING, "outbox_mark_failures_total"),
            fault("OutboxLostClaims", GROWING, "outbox_lost_claims_total"),
            fault("OutboxNotSampled", GROWING, "outbox_sample_failures_total"),
            fault("OutboxPaused", "1+0" + FOR_TWO_HOURS, "outbox_pauses"),
            fault("OutboxPurgeFailing", GROWING, "outbox_purge_failures_total"),
            fault("OutboxPurgeStalled", "0+120" + FOR_TWO_HOURS, "outbox_since_purge_seconds"),
            fault("OutboxReconcileFailing", SINCE_FIVE_MINUTES, "reconcile_failed_total"),
            fault("OutboxReconcileFailing", "_x114 1+0x36", "reconcile_failed_total"));

    private static Fault fault(String alert, String values, String name, String... labels) {
        return new Fault(alert, samples -> changed(samples, values, name, labels));
    }

    @BeforeAll
    static void scrapeARunningOutbox() {
        try (RunningOutbox outbox = new RunningOutbox("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1")) {
            outbox.write("good");
            outbox.meters.recordReconciled("orders", 1); // as a reconciler does
            await().untilAsserted(() -> {
                Scrape scrape = outbox.scrape();
                assertThat(scrape.names()).contains("outbox_breaker_state", "outbox_since_purge_seconds");
                assertThat(scrape.value("outbox_waiting")).isZero();
            });
            outbox.scrape()
                    .samples()
                    .forEach(sample -> healthy.put(AlertRules.labels(sample, "node-1"), values(sample)));
        }
    }

    private static String values(Scrape.Sample sample) {
        return AlertRules.value(sample.value()) + (Double.isNaN(sample.value()) ? "" : "+0") + FOR_TWO_HOURS;
    }

    private static String name(Map<String, String> labels) {
        return labels.get("__name__");
    }

    private static Map<Map<String, String>, String> changed(
            Map<Map<String, String>, String> samples, String values, String name, String... labels) {
        Map<Map<String, String>, String> changed = new LinkedHashMap<>(samples);
        changed.put(only(samples, name, labels), values);
        return changed;
    }

    private static Map<String, String> only(Map<Map<String, String>, String> samples, String name, String... labels) {
        List<Map<String, String>> found = samples.keySet().stream()
                .filter(series -> name(series).equals(name))
                .filter(series -> {
                    for (int i = 0; i < labels.length; i += 2) {
                        if (!labels[i + 1].equals(series.get(labels[i]))) {
                            return false;
                        }
                    }
                    return true;
                })
                .toList();
        assertThat(found).as("series %s %s", name, List.of(labels)).hasSize(1);
        return found.get(0);
    }

    @Test
    void a_healthy_outbox_raises_no_alert() throws Exception {
        evaluate(List.of(Question.silence("healthy", healthy, LAST)));
    }

    @Test
    void an_alert_that_fired_in_between_is_not_silence() {
        Map<Map<String, String>, String> deadOnce = changed(healthy, "0+0x30 1+0x120", "outbox_dead_total");
        Question silence = Question.silence("dead once", deadOnce, LAST);

        assertThatThrownBy(() -> evaluate(List.of(silence)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("OutboxEventsDead");
    }

    @Test
    void every_alert_fires_on_its_fault() throws Exception {
        List<Question> questions = new ArrayList<>();
        for (Fault fault : FAULTS) {
            questions.add(new Question(
                    fault.alert(),
                    fault.change().apply(healthy),
                    "count(ALERTS{alertstate=\"firing\", alertname=\"" + fault.alert() + "\"})",
                    LAST,
                    "{labels: '{}', value: 1}"));
        }
        evaluate(questions);
    }

    @Test
    void there_is_a_fault_for_every_alert() throws IOException {
        Set<String> alerts = new Yaml()
                        .<Map<String, List<Map<String, List<Map<String, String>>>>>>load(Files.readString(RULES))
                        .get("groups")
                        .stream()
                        .flatMap(group -> group.get("rules").stream())
                        .map(rule -> rule.get("alert"))
                        .collect(Collectors.toSet());

        assertThat(FAULTS.stream().map(Fault::alert).collect(Collectors.toSet()))
                .isEqualTo(alerts);
    }

    private void evaluate(List<Question> questions) throws IOException {
        AlertRules.of(RULES).check(Duration.ofMinutes(1), questions, directory);
    }
}
