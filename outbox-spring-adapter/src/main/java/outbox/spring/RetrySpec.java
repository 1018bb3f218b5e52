package outbox.spring;

import org.springframework.format.datetime.standard.DurationFormatterUtils;
import outbox.dispatch.RetryPolicy;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.BiFunction;
import java.util.function.Function;

/** Parses retry delays from text. */
final class RetrySpec {

    private static final String FORMS =
            "'exponential 1s..10m', 'linear 5s..1m', 'fixed 5s', 'series 5s,30s,2m' or the name of a RetryPolicy bean";

    private RetrySpec() {}

    /** Parses the text. A single word is the name of a bean, which the given function looks up. */
    static RetryPolicy parse(String text, Function<String, RetryPolicy> beans) {
        String[] words = text.trim().split("\\s+", 2);
        String spans = words.length == 1 ? "" : words[1].replaceAll("\\s", "");
        try {
            if (spans.isEmpty()) {
                return beans.apply(words[0]);
            }
            return switch (words[0].toLowerCase(Locale.ROOT)) {
                case "exponential" -> range(spans, RetryPolicy::exponential);
                case "linear" -> range(spans, RetryPolicy::linear);
                case "fixed" -> RetryPolicy.fixed(duration(spans));
                case "series" -> RetryPolicy.series(series(spans));
                default -> throw new IllegalArgumentException("'" + words[0] + "' is not known");
            };
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("'" + text + "' is not one of " + FORMS + ": " + e.getMessage(), e);
        }
    }

    private static RetryPolicy range(String text, BiFunction<Duration, Duration, RetryPolicy> policy) {
        String[] ends = text.split("\\.\\.", -1);
        if (ends.length != 2) {
            throw new IllegalArgumentException("two times with .. between them are needed");
        }
        return policy.apply(duration(ends[0]), duration(ends[1]));
    }

    private static List<Duration> series(String text) {
        return Arrays.stream(text.split(",", -1)).map(RetrySpec::duration).toList();
    }

    /**
     * Parses a time with its unit, such as 200ms, 5s or PT5S. A number without a unit is refused, because
     * it is ambiguous.
     */
    static Duration duration(String text) {
        if (text.isEmpty() || text.chars().allMatch(Character::isDigit)) {
            throw new IllegalArgumentException("'" + text + "' is not a time with a unit, such as 5s");
        }
        return DurationFormatterUtils.detectAndParse(text);
    }
}
