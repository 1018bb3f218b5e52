package outbox.cli;

import java.time.Duration;

/** Parses durations such as 500ms, 1s, 1h30m or 0. */
final class Durations {

    private Durations() {}

    /** Parses the value of a flag; an error message names the flag. */
    static Duration parse(String flag, String text) {
        try {
            return parse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(flag + " " + e.getMessage(), e);
        }
    }

    /** @throws IllegalArgumentException if the text is not a duration */
    static Duration parse(String text) {
        return outbox.relay.RelaySettings.parseSpan(text);
    }
}
