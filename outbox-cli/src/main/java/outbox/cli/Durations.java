package outbox.cli;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads spans of time such as 500ms, 1s, 1h30m or 0: whole numbers with the units h, m, s and ms, the largest first. */
final class Durations {

    private static final Pattern FORM =
            Pattern.compile("(?:(?<h>\\d{1,7})h)?(?:(?<m>\\d{1,9})m(?!s))?(?:(?<s>\\d{1,9})s)?(?:(?<ms>\\d{1,12})ms)?");

    private Durations() {}

    /** The value of a flag, which a refusal names. */
    static Duration parse(String flag, String text) {
        try {
            return parse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(flag + " " + e.getMessage(), e);
        }
    }

    /** @throws IllegalArgumentException if it is anything else */
    static Duration parse(String text) {
        if (text.equals("0")) {
            return Duration.ZERO;
        }
        Matcher form = FORM.matcher(text);
        if (text.isEmpty() || !form.matches()) {
            throw new IllegalArgumentException("must be a span of time such as 500ms, 30s, 1m or 168h, not negative,"
                    + " but is '" + TextTable.oneLine(text) + "'");
        }
        return Duration.ofHours(part(form, "h"))
                .plusMinutes(part(form, "m"))
                .plusSeconds(part(form, "s"))
                .plusMillis(part(form, "ms"));
    }

    private static long part(Matcher form, String unit) {
        String digits = form.group(unit);
        return digits == null ? 0 : Long.parseLong(digits);
    }
}
