package outbox.http;

import org.jspecify.annotations.Nullable;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoField;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Pattern;

/** Parses the header {@code Retry-After}: seconds, or one of the three HTTP date formats. */
final class RetryAfter {

    private static final Pattern SECONDS = Pattern.compile("[0-9]+");
    private static final int MOST_DIGITS = 9; // more digits exceed any limit
    private static final List<DateTimeFormatter> DATES = List.of(
            DateTimeFormatter.RFC_1123_DATE_TIME,
            new DateTimeFormatterBuilder() // RFC 850, with a two-digit year
                    .parseCaseInsensitive()
                    .appendPattern("EEEE, dd-MMM-")
                    .appendValueReduced(ChronoField.YEAR, 2, 2, 2000)
                    .appendPattern(" HH:mm:ss 'GMT'")
                    .toFormatter(Locale.ENGLISH)
                    .withZone(ZoneOffset.UTC),
            DateTimeFormatter.ofPattern("EEE MMM ppd HH:mm:ss yyyy", Locale.ENGLISH) // asctime
                    .withZone(ZoneOffset.UTC));

    private RetryAfter() {}

    /**
     * Returns the wait, or null if the header is missing or invalid. A date is compared with the {@code Date} header
     * of the response, because clocks differ.
     *
     * @param now the time to compare with if the response has no {@code Date} header
     */
    static @Nullable Duration of(HttpHeaders headers, Instant now) {
        for (String value : headers.allValues("retry-after")) {
            String text = value.strip();
            if (SECONDS.matcher(text).matches()) {
                return text.length() > MOST_DIGITS
                        ? Duration.ofSeconds(Long.MAX_VALUE)
                        : Duration.ofSeconds(Long.parseLong(text));
            }
            Instant until = date(text);
            if (until != null) {
                Instant sent = headers.firstValue("date").map(RetryAfter::date).orElse(now);
                Duration wait = Duration.between(sent, until);
                return wait.isNegative() ? Duration.ZERO : wait;
            }
        }
        return null;
    }

    private static @Nullable Instant date(String text) {
        return DATES.stream()
                .map(format -> date(text, format))
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
    }

    private static @Nullable Instant date(String text, DateTimeFormatter format) {
        try {
            return format.parse(text, Instant::from);
        } catch (DateTimeParseException e) {
            return null;
        }
    }
}
