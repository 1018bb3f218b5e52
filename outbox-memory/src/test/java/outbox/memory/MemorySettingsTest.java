package outbox.memory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.registry.DefaultListenerRegistry;

import java.time.Duration;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class MemorySettingsTest {

    private static MemoryOutbox.Builder with(Map<String, String> values) {
        return MemoryOutbox.builder(new DefaultListenerRegistry()).settings(values);
    }

    @Test
    void all_names_of_the_text_are_known_and_others_are_none_of_our_business() {
        assertThatCode(() -> with(Map.of(
                                "INTEV_ENABLED", "true",
                                "INTEV_DISPATCH_INTERVAL_MS", "1000",
                                "INTEV_BATCH_SIZE", " 50 ",
                                "INTEV_MAX_ATTEMPTS", "3",
                                "INTEV_BACKOFF_SERIES", "[1000, 5000,30000]",
                                "PATH", "/bin"))
                        .build()
                        .close())
                .doesNotThrowAnyException();
        assertThatCode(() -> with(Map.of("INTEV_BACKOFF_SERIES", "1000,5000", "INTEV_BATCH_SIZE", "")))
                .doesNotThrowAnyException();
    }

    @Test
    void they_can_be_read_and_have_the_defaults_of_the_text() {
        MemorySettings defaults = MemorySettings.of(Map.of("INTEV_BATCH_SIZE", " "));
        assertThat(defaults.enabled()).isTrue();
        assertThat(defaults.interval()).isBetween(Duration.ofSeconds(1), Duration.ofSeconds(3));
        assertThat(defaults.batchSize()).isEqualTo(100);
        assertThat(defaults.maxAttempts()).isEqualTo(5);
        assertThat(defaults.backoff())
                .extracting(Duration::toMillis)
                .containsExactly(1000L, 5000L, 30_000L, 120_000L, 600_000L);

        MemorySettings given = MemorySettings.of(Map.of(
                "INTEV_ENABLED", "false",
                "INTEV_DISPATCH_INTERVAL_MS", "700",
                "INTEV_BATCH_SIZE", "7",
                "INTEV_MAX_ATTEMPTS", "3",
                "INTEV_BACKOFF_SERIES", "[10,20]"));
        assertThat(given.enabled()).isFalse();
        assertThat(given.interval()).isEqualTo(Duration.ofMillis(700));
        assertThat(given.batchSize()).isEqualTo(7);
        assertThat(given.maxAttempts()).isEqualTo(3);
        assertThat(given.backoff()).containsExactly(Duration.ofMillis(10), Duration.ofMillis(20));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "INTEV_ENABLED|yes",
                "INTEV_DISPATCH_INTERVAL_MS|0",
                "INTEV_DISPATCH_INTERVAL_MS|1s",
                "INTEV_BATCH_SIZE|-1",
                "INTEV_BATCH_SIZE|99999999999",
                "INTEV_MAX_ATTEMPTS|many",
                "INTEV_BACKOFF_SERIES|[]",
                "INTEV_BACKOFF_SERIES|[1000,]",
                "INTEV_BACKOFF_SERIES|[1000",
                "INTEV_BATCHSIZE|1"
            })
    void a_wrong_value_or_name_is_refused_by_name(String name, String value) {
        assertThatThrownBy(() -> with(Map.of(name, value)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(name);
    }
}
