package outbox.reconcile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class CronTest {

    private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "* * * * *          | 2026-01-01T00:00:00Z | 2026-01-01T00:01:00Z",
                "* * * * *          | 2026-01-01T00:00:59.999Z | 2026-01-01T00:01:00Z",
                "*/5 * * * *        | 2026-01-01T00:03:00Z | 2026-01-01T00:05:00Z",
                "*/5 * * * *        | 2026-12-31T23:55:00Z | 2027-01-01T00:00:00Z",
                "7-30/10 4 * * *    | 2026-01-01T04:17:00Z | 2026-01-01T04:27:00Z",
                "7-30/10 4 * * *    | 2026-01-01T04:27:00Z | 2026-01-02T04:07:00Z",
                "0 9,17 * * MON-FRI | 2026-01-02T17:00:00Z | 2026-01-05T09:00:00Z",
                "30 6 1 jan,Jul *   | 2026-01-01T06:30:00Z | 2026-07-01T06:30:00Z",
                "0 0 29 2 *         | 2096-02-29T00:00:00Z | 2104-02-29T00:00:00Z",
                "0 0 * * 7          | 2026-01-01T00:00:00Z | 2026-01-04T00:00:00Z",
                "0 0 * * 0          | 2026-01-01T00:00:00Z | 2026-01-04T00:00:00Z",
                "0 0 13 * FRI       | 2026-01-01T00:00:00Z | 2026-01-02T00:00:00Z",
                "0 0 13 * FRI       | 2026-01-09T00:00:00Z | 2026-01-13T00:00:00Z",
                "0 */5 * * * *      | 2026-01-01T00:03:00Z | 2026-01-01T00:05:00Z",
                "30 */5 * * * *     | 2026-01-01T00:05:00Z | 2026-01-01T00:05:30Z",
                "30 */5 * * * *     | 2026-01-01T00:05:30Z | 2026-01-01T00:10:30Z",
                "*/20 * * * * *     | 2026-01-01T00:00:40.5Z | 2026-01-01T00:01:00Z",
                "*/20 * * * * *     | 2026-01-01T00:00:59.999Z | 2026-01-01T00:01:00Z",
                "15,45 59 23 * * *  | 2026-12-31T23:59:45Z | 2027-01-01T23:59:15Z",
                "10 0 3 * * MON     | 2026-01-01T00:00:00Z | 2026-01-05T03:00:10Z"
            })
    void the_next_time_is_the_first_that_fits(String expression, Instant after, Instant next) {
        assertThat(new Cron(expression, ZoneOffset.UTC).next(after)).isEqualTo(next);
    }

    @Test
    void seconds_of_the_hour_that_comes_twice_come_twice_and_those_of_the_gap_are_skipped() {
        assertThat(times("40 59 * * * *", Instant.parse("2026-10-25T00:00:00Z"), 3))
                .containsExactly("2026-10-25T02:59:40+02:00", "2026-10-25T02:59:40+01:00", "2026-10-25T03:59:40+01:00");
        assertThat(times("40 59 * * * *", Instant.parse("2026-03-29T00:00:00Z"), 2))
                .containsExactly("2026-03-29T01:59:40+01:00", "2026-03-29T03:59:40+02:00");
    }

    @Test
    void times_are_those_of_the_zone() {
        Cron cron = new Cron("30 8 * * *", BERLIN);

        assertThat(cron.next(Instant.parse("2026-01-01T00:00:00Z"))).isEqualTo("2026-01-01T07:30:00Z");
        assertThat(cron.next(Instant.parse("2026-07-01T00:00:00Z"))).isEqualTo("2026-07-01T06:30:00Z");
    }

    @Test
    void a_time_that_is_skipped_in_spring_comes_after_the_gap() {
        Instant before = Instant.parse("2026-03-28T12:00:00Z");

        assertThat(times("30 2 * * *", before, 2)).containsExactly("2026-03-29T03:30+02:00", "2026-03-30T02:30+02:00");
        assertThat(times("*/30 * * * *", Instant.parse("2026-03-29T00:29:00Z"), 4))
                .containsExactly(
                        "2026-03-29T01:30+01:00",
                        "2026-03-29T03:00+02:00",
                        "2026-03-29T03:30+02:00",
                        "2026-03-29T04:00+02:00");
    }

    @Test
    void a_fixed_hour_that_comes_twice_in_autumn_counts_once_and_every_hour_twice() {
        Instant before = Instant.parse("2026-10-24T23:59:00Z"); // 01:59 in Berlin

        assertThat(times("30 2 * * *", before, 2)).containsExactly("2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00");
        assertThat(times("*/30 * * * *", before, 6))
                .containsExactly(
                        "2026-10-25T02:00+02:00",
                        "2026-10-25T02:30+02:00",
                        "2026-10-25T02:00+01:00",
                        "2026-10-25T02:30+01:00",
                        "2026-10-25T03:00+01:00",
                        "2026-10-25T03:30+01:00");
    }

    private static List<String> times(String expression, Instant after, int count) {
        Cron cron = new Cron(expression, BERLIN);
        List<String> times = new ArrayList<>();
        Instant time = after;
        for (int i = 0; i < count; i++) {
            time = cron.next(time);
            times.add(ZonedDateTime.ofInstant(time, BERLIN).toOffsetDateTime().toString());
        }
        return times;
    }

    @Test
    void over_years_times_rise_and_none_of_a_fixed_hour_is_left_out() {
        Cron daily = new Cron("30 2 * * *", BERLIN);
        Instant time = Instant.parse("2026-01-01T00:00:00Z");
        for (int day = 0; day < 3 * 365; day++) {
            Instant next = daily.next(time);
            assertThat(next).isAfter(time);
            assertThat(next.atZone(BERLIN).toLocalDate().toEpochDay()
                            - Instant.parse("2026-01-01T00:00:00Z")
                                    .atZone(BERLIN)
                                    .toLocalDate()
                                    .toEpochDay())
                    .isEqualTo(day);
            time = next;
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "* * * *",
                "* * * * * * *",
                "60 * * * * *",
                "60 * * * *",
                "* 24 * * *",
                "* * 0 * *",
                "* * * 13 *",
                "* * * * 8",
                "5-1 * * * *",
                "*/0 * * * *",
                "*/60 * * * *",
                "5/10 * * * *",
                "1-2-3 * * * *",
                "1,,2 * * * *",
                "*/5/2 * * * *",
                "-1 * * * *",
                "MON * * * *",
                "* * * FOO *",
                "0 0 30 2 *",
                "0 0 31 4,6 *",
                "@daily",
                "0 0 L * *"
            })
    void what_is_wrong_is_refused_with_the_expression(String expression) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Schedule.cron(expression, ZoneOffset.UTC))
                .withMessageContaining("Cron expression '" + expression.strip());
    }

    @Test
    void a_schedule_says_what_it_is() {
        assertThat(Schedule.cron(" 0  9 * *\tMON", BERLIN)).hasToString("cron 0 9 * * MON Europe/Berlin");
        assertThat(Schedule.every(Duration.ofMinutes(1))).hasToString("every PT1M");
    }
}
