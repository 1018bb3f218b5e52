package outbox.reconcile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

class ScheduleTest {

    private static final Instant NOW = Instant.parse("2026-03-01T10:17:42Z");

    @Test
    void what_one_node_writes_down_another_one_reads() {
        List<Schedule> schedules = List.of(
                Schedule.every(Duration.ofMillis(90_500)),
                Schedule.cron("*/5  9-17 * jan,MAR MON-FRI", ZoneId.of("Asia/Shanghai")),
                Schedule.cron("0 3 * * *", ZoneOffset.ofHours(-2)));

        assertThat(schedules).allSatisfy(schedule -> {
            Schedule read = Schedule.parse(schedule.toString()).orElseThrow();
            assertThat(read).hasToString(schedule.toString());
            assertThat(read.next(NOW)).isEqualTo(schedule.next(NOW));
        });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "every",
                "every ",
                "every day",
                "every PT0S",
                "cron ",
                "cron Z",
                "cron * * * * *",
                "cron * * * * * Moon",
                "at noon"
            })
    void words_that_it_cannot_read_are_left_to_who_can(String words) {
        assertThat(Schedule.parse(words)).isEmpty();
    }
}
