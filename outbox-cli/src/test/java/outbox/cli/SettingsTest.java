package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class SettingsTest {

    @TempDir
    private Path directory = Path.of("");

    @Test
    void a_flag_wins_over_the_environment_which_wins_over_the_file() throws Exception {
        Path file = Files.writeString(
                directory.resolve("outbox.properties"),
                "OUTBOX_RELAY_BATCH_SIZE=1\nOUTBOX_RELAY_LOCK_TTL=2s\nOUTBOX_RELAY_MAX_ATTEMPTS=3\n");
        Settings settings = new Settings(
                Map.of(Setting.RELAY_BATCH_SIZE, "10"),
                Map.of("OUTBOX_RELAY_BATCH_SIZE", "20", "OUTBOX_RELAY_LOCK_TTL", "30s"),
                file);

        assertThat(settings.text(Setting.RELAY_BATCH_SIZE)).hasValue("10");
        assertThat(settings.text(Setting.RELAY_LOCK_TTL)).hasValue("30s");
        assertThat(settings.text(Setting.RELAY_MAX_ATTEMPTS)).hasValue("3");
        assertThat(settings.text(Setting.RELAY_POLL_INTERVAL)).hasValue("1s");
    }

    @Test
    void a_name_in_the_file_that_is_not_known_is_refused() throws Exception {
        Path file = Files.writeString(directory.resolve("outbox.properties"), "OUTBOX_RELAY_BATCHSIZE=1\n");

        assertThatThrownBy(() -> new Settings(Map.of(), Map.of(), file))
                .isInstanceOf(SettingsException.class)
                .hasMessageContaining("OUTBOX_RELAY_BATCHSIZE");
    }

    @Test
    void a_password_comes_from_a_file_without_its_line_break() throws Exception {
        Path file = Files.writeString(directory.resolve("password"), "hush\n");
        Settings settings = new Settings(Map.of(Setting.JDBC_PASSWORD_FILE, file.toString()), Map.of(), null);

        assertThat(settings.secret(Setting.JDBC_PASSWORD, Setting.JDBC_PASSWORD_FILE))
                .hasValue("hush");
    }

    @Test
    void spans_of_time_are_read_as_the_plan_writes_them() {
        assertThat(Durations.parse("168h")).isEqualTo(Duration.ofDays(7));
        assertThat(Durations.parse("1h30m")).isEqualTo(Duration.ofMinutes(90));
        assertThat(Durations.parse("500ms")).isEqualTo(Duration.ofMillis(500));
        assertThat(Durations.parse("1m")).isEqualTo(Duration.ofMinutes(1));
        assertThat(Durations.parse("0")).isEqualTo(Duration.ZERO);
        assertThatThrownBy(() -> Durations.parse("-1s")).hasMessageContaining("not negative");
        assertThatThrownBy(() -> Durations.parse("7d")).hasMessageContaining("168h");
        assertThatThrownBy(() -> Durations.parse("")).isInstanceOf(IllegalArgumentException.class);
    }
}
