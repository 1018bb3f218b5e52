package outbox.http;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;

class RetryAfterTest {

    private static final Instant NOW = Instant.parse("2026-05-01T10:00:00Z");

    private static HttpHeaders headers(Map<String, List<String>> headers) {
        return HttpHeaders.of(headers, (name, value) -> true);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 0",
                "120 | 120",
                "Fri, 01 May 2026 10:00:30 GMT | 30",
                "Friday, 01-May-26 10:00:30 GMT | 30",
                "Fri May  1 10:00:30 2026 | 30",
                "Fri, 01 May 2026 09:59:30 GMT | 0",
            })
    void seconds_and_the_three_dates_of_http_are_understood(String value, long seconds) {
        assertThat(RetryAfter.of(headers(Map.of("Retry-After", List.of(value))), NOW))
                .isEqualTo(Duration.ofSeconds(seconds));
    }

    @Test
    void more_seconds_than_a_number_holds_are_many() {
        assertThat(RetryAfter.of(headers(Map.of("Retry-After", List.of("9".repeat(400)))), NOW))
                .isGreaterThan(Duration.ofDays(365));
    }

    @Test
    void a_date_is_counted_from_that_of_the_answer_if_there_is_one() {
        String until = "Fri, 01 May 2026 10:00:30 GMT";

        assertThat(RetryAfter.of(
                        headers(Map.of(
                                "Retry-After", List.of(until), "Date", List.of("Fri, 01 May 2026 10:00:20 GMT"))),
                        NOW))
                .isEqualTo(Duration.ofSeconds(10));
        assertThat(RetryAfter.of(headers(Map.of("Retry-After", List.of(until), "Date", List.of("yesterday"))), NOW))
                .isEqualTo(Duration.ofSeconds(30));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "+5", "1.5", "soon", "Fri, 31 Feb 2026 10:00:30 GMT", "٣"})
    void what_nobody_understands_says_nothing(String value) {
        assertThat(RetryAfter.of(headers(Map.of("Retry-After", List.of(value))), NOW))
                .isNull();
        assertThat(RetryAfter.of(headers(Map.of("Retry-After", List.of(value, "5"))), NOW))
                .isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void an_answer_without_it_says_nothing() {
        assertThat(RetryAfter.of(headers(Map.of()), NOW)).isNull();
    }
}
