package outbox.http;

import java.time.Duration;

/** Checks durations in settings. */
final class Durations {

    private Durations() {}

    static Duration positive(String setting, Duration value, Duration longest) {
        if (value.isZero()) {
            throw new IllegalArgumentException(setting + " must be positive: " + value);
        }
        return notNegative(setting, value, longest);
    }

    static Duration notNegative(String setting, Duration value, Duration longest) {
        if (value.isNegative() || value.compareTo(longest) > 0) {
            throw new IllegalArgumentException(setting + " must be positive and at most " + longest + ": " + value);
        }
        return value;
    }
}
