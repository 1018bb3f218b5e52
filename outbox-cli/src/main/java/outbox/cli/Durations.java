package outbox.cli;

import java.time.Duration;

/** Reads spans of time such as 500ms, 1s, 1h30m or 0. */
final class Durations {

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
        return outbox.relay.RelaySettings.parseSpan(text);
    }
}
