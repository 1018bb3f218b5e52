package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Settings as texts under the names of the environment. A name that begins like ours and is none, and a value that is not what it should be, is refused. */
final class MemorySettings {

    private static final String PREFIX = "INTEV_";
    private static final String ENABLED = "INTEV_ENABLED";
    private static final String INTERVAL = "INTEV_DISPATCH_INTERVAL_MS";
    private static final String BATCH = "INTEV_BATCH_SIZE";
    private static final String ATTEMPTS = "INTEV_MAX_ATTEMPTS";
    private static final String BACKOFF = "INTEV_BACKOFF_SERIES";
    private static final Set<String> NAMES = new TreeSet<>(Set.of(ENABLED, INTERVAL, BATCH, ATTEMPTS, BACKOFF));

    private final Map<String, String> values;

    MemorySettings(Map<String, String> values) {
        this.values = values;
    }

    /** What is not set, or blank, stays as it is. */
    void applyTo(MemoryOutbox.Builder builder) {
        for (String name : values.keySet()) {
            if (name.startsWith(PREFIX) && !NAMES.contains(name)) {
                throw new IllegalArgumentException(
                        "There is no setting " + EventRules.show(name) + "; there are " + String.join(", ", NAMES));
            }
        }
        String enabled = value(ENABLED);
        if (enabled != null) {
            builder.enabled(isTrue(enabled));
        }
        if (value(INTERVAL) != null) {
            builder.interval(Duration.ofMillis(number(INTERVAL)));
        }
        if (value(BATCH) != null) {
            builder.batchSize((int) number(BATCH));
        }
        if (value(ATTEMPTS) != null) {
            builder.maxAttempts((int) number(ATTEMPTS));
        }
        String backoff = value(BACKOFF);
        if (backoff != null) {
            builder.backoff(series(backoff));
        }
    }

    private @Nullable String value(String name) {
        String value = values.get(name);
        return value == null || value.isBlank() ? null : value.strip();
    }

    private static boolean isTrue(String value) {
        return switch (value) {
            case "true" -> true;
            case "false" -> false;
            default -> throw wrong(ENABLED, value, "true or false");
        };
    }

    private long number(String name) {
        return positive(name, String.valueOf(value(name)));
    }

    private static long positive(String name, String text) {
        try {
            int number = Integer.parseInt(text);
            if (number > 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        throw wrong(name, text, "a positive number");
    }

    /** Milliseconds, with or without brackets: {@code [1000,5000]}. */
    private static List<Duration> series(String value) {
        boolean bracketed = value.startsWith("[") && value.endsWith("]") && value.length() > 1;
        String inner = bracketed ? value.substring(1, value.length() - 1) : value;
        List<Duration> series = new ArrayList<>();
        for (String wait : inner.split(",", -1)) {
            series.add(Duration.ofMillis(positive(BACKOFF, wait.strip())));
        }
        return series;
    }

    private static IllegalArgumentException wrong(String name, String value, String expected) {
        return new IllegalArgumentException(name + " must be " + expected + ": " + EventRules.show(value));
    }
}
