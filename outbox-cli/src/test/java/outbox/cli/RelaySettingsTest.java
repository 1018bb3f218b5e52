package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class RelaySettingsTest {

    private static RelaySettings read(String... pairs) {
        Map<String, String> environment = new HashMap<>(Map.of(
                "OUTBOX_JDBC_URL", "jdbc:h2:mem:a",
                "OUTBOX_RELAY_TABLES", "public.org_outbox",
                "OUTBOX_HTTP_ENDPOINT", "http://127.0.0.1:8080/events"));
        for (int i = 0; i < pairs.length; i += 2) {
            environment.put(pairs[i], pairs[i + 1]);
        }
        return RelaySettings.of(new Settings(Map.of(), environment, null), new Secrets());
    }

    @Test
    void the_longest_silence_follows_the_poll_interval_unless_it_is_set() {
        assertThat(read().delivery().maxSilence()).isEqualTo(Duration.ofSeconds(30));
        assertThat(read("OUTBOX_RELAY_POLL_INTERVAL", "1m").delivery().maxSilence())
                .isEqualTo(Duration.ofMinutes(5));
        assertThat(read("OUTBOX_HEALTH_MAX_SILENCE", "2m").delivery().maxSilence())
                .isEqualTo(Duration.ofMinutes(2));
        assertRefused("OUTBOX_HEALTH_MAX_SILENCE", "OUTBOX_HEALTH_MAX_SILENCE", "0s");
    }

    private static void assertRefused(String words, String... pairs) {
        assertThatThrownBy(() -> read(pairs))
                .isInstanceOf(SettingsException.class)
                .hasMessageContaining(words);
    }

    @Test
    void the_names_of_the_plan_are_all_there() {
        assertThat(new TreeSet<>(
                        Arrays.stream(Setting.values()).map(Setting::key).toList()))
                .contains(
                        "OUTBOX_RELAY_ENABLED",
                        "OUTBOX_RELAY_TABLES",
                        "OUTBOX_RELAY_SINGLE_ACTIVE",
                        "OUTBOX_RELAY_POLL_INTERVAL",
                        "OUTBOX_RELAY_BATCH_SIZE",
                        "OUTBOX_RELAY_LOCK_TTL",
                        "OUTBOX_RELAY_MAX_ATTEMPTS",
                        "OUTBOX_RELAY_DISPATCH_TIMEOUT",
                        "OUTBOX_LAST_ERROR_MAX_BYTES",
                        "OUTBOX_CLEANER_ENABLED",
                        "OUTBOX_CLEANER_TABLES",
                        "OUTBOX_CLEANER_INTERVAL",
                        "OUTBOX_CLEANER_RETENTION",
                        "OUTBOX_CLEANER_DEAD_RETENTION",
                        "PROMETHEUS_METRICS_ENABLED",
                        "PROMETHEUS_METRICS_PATH");
    }

    @Test
    void the_defaults_are_those_of_the_plan() {
        RelaySettings settings = read();

        RelaySettings.Delivery delivery = settings.delivery();
        assertThat(delivery.enabled()).isTrue();
        assertThat(delivery.singleActive()).isTrue();
        assertThat(delivery.pollInterval()).isEqualTo(Duration.ofSeconds(1));
        assertThat(delivery.batchSize()).isEqualTo(100);
        assertThat(delivery.lockTtl()).isEqualTo(Duration.ofSeconds(60));
        assertThat(delivery.maxAttempts().number()).isEqualTo(25);
        assertThat(delivery.maxAttempts().isGiven()).isFalse();
        assertThat(delivery.dispatchTimeout()).isEqualTo(Duration.ofSeconds(30));
        assertThat(delivery.lastErrorMaxBytes()).isEqualTo(2048);
        assertThat(settings.cleaner().enabled()).isTrue();
        assertThat(settings.cleaner().tables()).containsExactly("public.org_outbox");
        assertThat(settings.cleaner().interval()).isEqualTo(Duration.ofMinutes(1));
        assertThat(settings.cleaner().retention()).isEqualTo(Duration.ofDays(7));
        assertThat(settings.cleaner().deadRetention()).isEmpty();
        assertThat(settings.server().bind().getAddress().isLoopbackAddress()).isTrue();
        assertThat(settings.server().metricsPath()).isEmpty();
        assertThat(settings.transport().endpoint()).hasValue(URI.create("http://127.0.0.1:8080/events"));
    }

    @Test
    void the_defaults_of_the_command_are_those_of_the_library() {
        Map<String, String> defaults = new HashMap<>();
        for (Setting setting : Setting.values()) {
            setting.standard().ifPresent(text -> defaults.put(setting.key(), text));
        }

        assertThat(outbox.relay.RelaySettings.of(defaults)).isEqualTo(outbox.relay.RelaySettings.of(Map.of()));
    }

    @Test
    void every_setting_can_be_given() {
        RelaySettings settings = read(
                "OUTBOX_RELAY_ENABLED", "false",
                "OUTBOX_RELAY_TABLES", "public.org_outbox, hrm_outbox",
                "OUTBOX_RELAY_SINGLE_ACTIVE", "FALSE",
                "OUTBOX_RELAY_POLL_INTERVAL", "250ms",
                "OUTBOX_RELAY_BATCH_SIZE", "7",
                "OUTBOX_RELAY_DATABASE_TIMEOUT", "3s",
                "OUTBOX_CLEANER_TABLES", "hrm_outbox",
                "OUTBOX_CLEANER_DEAD_RETENTION", "168h",
                "OUTBOX_SERVER_BIND", "0.0.0.0:0",
                "OUTBOX_SERVER_TOKEN", "0123456789abcdef",
                "PROMETHEUS_METRICS_ENABLED", "true");

        assertThat(settings.delivery().enabled()).isFalse();
        assertThat(settings.delivery().tables()).containsExactly("public.org_outbox", "hrm_outbox");
        assertThat(settings.delivery().singleActive()).isFalse();
        assertThat(settings.delivery().pollInterval()).isEqualTo(Duration.ofMillis(250));
        assertThat(settings.delivery().batchSize()).isEqualTo(7);
        assertThat(settings.delivery().databaseTimeout()).hasValue(Duration.ofSeconds(3));
        assertThat(settings.cleaner().tables()).containsExactly("hrm_outbox");
        assertThat(settings.cleaner().deadRetention()).hasValue(Duration.ofDays(7));
        assertThat(settings.server().metricsPath()).hasValue("/debug/prometheus");
    }

    @Test
    void wrong_values_are_refused_by_name() {
        assertRefused("OUTBOX_CLEANER_RETENTION: must be a span of time", "OUTBOX_CLEANER_RETENTION", "-1h");
        assertRefused("set OUTBOX_CLEANER_ENABLED to false", "OUTBOX_CLEANER_RETENTION", "0");
        assertRefused("OUTBOX_RELAY_BATCH_SIZE: must be a whole number from 1", "OUTBOX_RELAY_BATCH_SIZE", "0");
        assertRefused("OUTBOX_RELAY_POLL_INTERVAL: must be at least", "OUTBOX_RELAY_POLL_INTERVAL", "0");
        assertRefused("OUTBOX_RELAY_ENABLED: must be true or false", "OUTBOX_RELAY_ENABLED", "yes");
        assertRefused("at most half of OUTBOX_RELAY_LOCK_TTL", "OUTBOX_RELAY_DATABASE_TIMEOUT", "31s");
        assertRefused("is not a table name", "OUTBOX_RELAY_TABLES", "a;b");
        assertRefused("twice", "OUTBOX_RELAY_TABLES", "a,a");
        assertRefused("OUTBOX_RELAY_TABLES names no table", "OUTBOX_RELAY_TABLES", " ");
        assertRefused("OUTBOX_HTTP_ENDPOINT is missing", "OUTBOX_HTTP_ENDPOINT", "");
        assertRefused("http or https", "OUTBOX_HTTP_ENDPOINT", "ftp://host/");
        assertRefused("PROMETHEUS_METRICS_PATH: must be a path", "PROMETHEUS_METRICS_PATH", "/health");
        assertRefused("OUTBOX_RELAY_TRANSPORT: must be http or rabbitmq or stdout", "OUTBOX_RELAY_TRANSPORT", "kafka");
        assertRefused("take one of the two", "OUTBOX_RELAY_TRANSPORT", "stdout");
        assertRefused("OUTBOX_HTTP_SECRET cannot be used", "OUTBOX_HTTP_SECRET", "plain");
    }

    @Test
    void the_header_authorization_comes_from_the_environment_or_a_file_and_is_never_shown(@TempDir Path directory)
            throws IOException {
        Path file = Files.writeString(directory.resolve("token"), "Bearer t0k3n\n");
        String name = "OUTBOX_HTTP_AUTHORIZATION";

        assertThat(read(name, "Bearer t0k3n")
                        .transport()
                        .authorization()
                        .orElseThrow()
                        .get())
                .isEqualTo("Bearer t0k3n");
        assertThat(read(name + "_FILE", file.toString())
                        .transport()
                        .authorization()
                        .orElseThrow()
                        .get())
                .isEqualTo("Bearer t0k3n");
        assertThat(read().transport().authorization()).isEmpty();
        assertRefused("keep one of them", name, "Bearer t0k3n", name + "_FILE", file.toString());
        assertRefused("cannot read", name + "_FILE", directory.resolve("none").toString());
        for (String wrong : List.of("Bearer t0k3n\r\nx-evil: 1", "Bearer t0k3n\n", "Bearer t0k3n\u00e4")) {
            assertThatThrownBy(() -> read(name, wrong))
                    .hasMessageContaining("must be printable ASCII")
                    .hasMessageNotContaining("t0k3n");
        }
        for (String wrong : List.of("", "\n", "Bearer t0k3n\nx-evil: 1\n", "Bearer t0k3n\r\rx", "Bearer t0k3n \n")) {
            Files.writeString(file, wrong);
            assertThatThrownBy(() -> read(name + "_FILE", file.toString()))
                    .hasMessageContaining("token")
                    .hasMessageContaining("must be printable ASCII")
                    .hasMessageNotContaining("t0k3n");
        }
    }

    @Test
    void an_address_that_others_can_reach_needs_credentials() {
        assertRefused("set OUTBOX_SERVER_TOKEN", "OUTBOX_SERVER_BIND", "0.0.0.0:9470");
        assertRefused("at least 16", "OUTBOX_SERVER_BIND", "0.0.0.0:9470", "OUTBOX_SERVER_TOKEN", "short");
        assertRefused("must be HOST:PORT", "OUTBOX_SERVER_BIND", "9470");
    }

    @Test
    void all_that_is_wrong_is_told_at_once() {
        assertThatThrownBy(() -> read("OUTBOX_RELAY_BATCH_SIZE", "x", "OUTBOX_CLEANER_RETENTION", "-1s"))
                .hasMessageContainingAll("OUTBOX_RELAY_BATCH_SIZE", "OUTBOX_CLEANER_RETENTION");
    }

    @Test
    void no_endpoint_is_needed_for_standard_output_or_a_relay_that_is_off() {
        assertThat(read("OUTBOX_HTTP_ENDPOINT", "", "OUTBOX_RELAY_TRANSPORT", "stdout")
                        .transport()
                        .endpoint())
                .isEqualTo(Optional.empty());
        assertThat(read("OUTBOX_HTTP_ENDPOINT", "", "OUTBOX_RELAY_ENABLED", "false")
                        .delivery()
                        .enabled())
                .isFalse();
    }
}
