package outbox.relay;

import org.junit.jupiter.api.Test;
import outbox.fake.FakeConnections;
import outbox.memory.MemoryEventStore;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class EnvironmentSettingsTest {

    @Test
    void without_any_variable_the_defaults_are_those_of_the_plan() {
        RelaySettings settings = RelaySettings.of(Map.of());

        assertThat(settings.delivery())
                .isEqualTo(new RelaySettings.Delivery(
                        true,
                        List.of(),
                        true,
                        Duration.ofSeconds(1),
                        100,
                        Duration.ofMinutes(1),
                        25,
                        Duration.ofSeconds(30),
                        2048));
        assertThat(settings.cleaner())
                .isEqualTo(new RelaySettings.Cleaner(
                        true, List.of(), Duration.ofMinutes(1), Duration.ofDays(7), Optional.empty()));
        assertThat(RelaySettings.fromEnvironment()).isEqualTo(settings); // tests have none of the variables
    }

    @Test
    void every_variable_of_the_plan_is_read() {
        Map<String, String> values = new HashMap<>();
        values.put("OUTBOX_RELAY_ENABLED", "false");
        values.put("OUTBOX_RELAY_TABLES", "public.org_outbox, public.hrm_outbox");
        values.put("OUTBOX_RELAY_SINGLE_ACTIVE", "FALSE");
        values.put("OUTBOX_RELAY_POLL_INTERVAL", "250ms");
        values.put("OUTBOX_RELAY_BATCH_SIZE", "7");
        values.put("OUTBOX_RELAY_LOCK_TTL", "1m30s");
        values.put("OUTBOX_RELAY_MAX_ATTEMPTS", "3");
        values.put("OUTBOX_RELAY_DISPATCH_TIMEOUT", "5s");
        values.put("OUTBOX_LAST_ERROR_MAX_BYTES", "100");
        values.put("OUTBOX_CLEANER_ENABLED", "false");
        values.put("OUTBOX_CLEANER_TABLES", "public.hrm_outbox");
        values.put("OUTBOX_CLEANER_INTERVAL", "2m");
        values.put("OUTBOX_CLEANER_RETENTION", "24h");
        values.put("OUTBOX_CLEANER_DEAD_RETENTION", "168h");
        values.put("OUTBOX_RELAY_TRANSPORT", "of another program");

        assertThat(RelaySettings.of(values))
                .isEqualTo(new RelaySettings(
                        new RelaySettings.Delivery(
                                false,
                                List.of("public.org_outbox", "public.hrm_outbox"),
                                false,
                                Duration.ofMillis(250),
                                7,
                                Duration.ofSeconds(90),
                                3,
                                Duration.ofSeconds(5),
                                100),
                        new RelaySettings.Cleaner(
                                false,
                                List.of("public.hrm_outbox"),
                                Duration.ofMinutes(2),
                                Duration.ofDays(1),
                                Optional.of(Duration.ofDays(7)))));
    }

    @Test
    void all_that_is_wrong_is_told_at_once_by_its_name() {
        assertThatThrownBy(() -> RelaySettings.of(Map.of(
                        "OUTBOX_RELAY_BATCH_SIZE", "0",
                        "OUTBOX_RELAY_ENABLED", "yes",
                        "OUTBOX_RELAY_TABLES", "a,,b",
                        "OUTBOX_CLEANER_RETENTION", "0",
                        "OUTBOX_RELAY_POLL_INTERVAL", "1 day")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(
                        "OUTBOX_RELAY_BATCH_SIZE: must be a whole number from 1 to 10000",
                        "OUTBOX_RELAY_ENABLED: must be true or false",
                        "OUTBOX_RELAY_TABLES: names a table that is empty",
                        "OUTBOX_CLEANER_RETENTION: must be more than 0",
                        "OUTBOX_RELAY_POLL_INTERVAL: must be a span of time");
    }

    @Test
    void a_relay_takes_them() {
        RelaySettings settings =
                RelaySettings.of(Map.of("OUTBOX_RELAY_TABLES", "org_outbox", "OUTBOX_CLEANER_DEAD_RETENTION", "24h"));
        Relay.Builder relay = Relay.builder()
                .connectionProvider(new FakeConnections())
                .eventStore(MemoryEventStore.builder().build())
                .table("org_outbox")
                .dispatcher(message -> {});

        assertThatCode(() -> settings.applyTo(relay, "org_outbox").build().close())
                .doesNotThrowAnyException();
    }
}
