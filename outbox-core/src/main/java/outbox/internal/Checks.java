package outbox.internal;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.regex.Pattern;

/**
 * Rejects values that would fail, or have a different meaning, on one of the databases. Every message names
 * the setting.
 */
public final class Checks {

    private static final Instant EARLIEST = Instant.parse("1000-01-01T00:00:00Z"); // minimum of a MySQL DATETIME
    private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59.999999Z");
    private static final Pattern REQUEST_ID = Pattern.compile("[A-Za-z0-9._:-]{1,64}"); // compares alike everywhere

    private Checks() {}

    /** Checks that a text fits its column, is not blank, and can be displayed on one line. */
    public static String text(String setting, String value, int maxLength) {
        if (value.isBlank()) {
            throw new IllegalArgumentException(setting + " must not be blank");
        }
        if (value.codePointCount(0, value.length()) > maxLength) {
            throw new IllegalArgumentException(
                    setting + " must have at most " + maxLength + " characters: " + EventRules.show(value));
        }
        if (value.codePoints()
                .anyMatch(c -> Character.isISOControl(c) || Character.getType(c) == Character.SURROGATE)) {
            throw new IllegalArgumentException(
                    setting + " must not contain control characters or lone surrogates: " + EventRules.show(value));
        }
        return value;
    }

    public static String requestId(String value) {
        if (!REQUEST_ID.matcher(value).matches()) {
            throw new IllegalArgumentException(
                    "requestId must be 1 to 64 letters, digits or any of . _ : -, not " + EventRules.show(value));
        }
        return value;
    }

    /** Checks that every database can compare with this time, and truncates it to microseconds. */
    public static Instant time(String setting, Instant value) {
        if (value.isBefore(EARLIEST) || value.isAfter(LATEST)) {
            throw new IllegalArgumentException(setting + " must be between " + EARLIEST + " and " + LATEST);
        }
        return value.truncatedTo(ChronoUnit.MICROS);
    }

    public static int range(String setting, int value, int lowest, int highest) {
        if (value < lowest || value > highest) {
            throw new IllegalArgumentException(
                    setting + " must be between " + lowest + " and " + highest + ", not " + value);
        }
        return value;
    }
}
