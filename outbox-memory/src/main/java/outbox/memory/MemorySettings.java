package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;
import outbox.registry.DefaultListenerRegistry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The {@code INTEV_} settings from the environment, for applications that wire an outbox themselves.
 * {@link MemoryOutbox.Builder#settings} accepts the same settings. A setting that is missing or blank has its
 * default. Immutable.
 */
public final class MemorySettings {

    private static final String PREFIX = "INTEV_";
    private static final String ENABLED = "INTEV_ENABLED";
    private static final String INTERVAL = "INTEV_DISPATCH_INTERVAL_MS";
    private static final String BATCH = "INTEV_BATCH_SIZE";
    private static final String ATTEMPTS = "INTEV_MAX_ATTEMPTS";
    private static final String BACKOFF = "INTEV_BACKOFF_SERIES";
    private static final Set<String> NAMES = new TreeSet<>(Set.of(ENABLED, INTERVAL, BATCH, ATTEMPTS, BACKOFF));

    static final Duration DEFAULT_INTERVAL = Duration.ofSeconds(2);
    static final int DEFAULT_BATCH = 100;
    static final int DEFAULT_ATTEMPTS = 5;
    static final List<Duration> DEFAULT_BACKOFF = List.of(
            Duration.ofSeconds(1),
            Duration.ofSeconds(5),
            Duration.ofSeconds(30),
            Duration.ofMinutes(2),
            Duration.ofMinutes(10));

    private final Map<String, String> values;

    private MemorySettings(Map<String, String> values) {
        this.values = Map.copyOf(values);
    }

    /**
     * Reads the settings, usually from {@code System.getenv()}. Ignores names that do not begin with {@code INTEV_}.
     *
     * @throws IllegalArgumentException if a name that begins with {@code INTEV_} is unknown or its value is invalid;
     *     the message contains the name
     */
    public static MemorySettings of(Map<String, String> values) {
        for (String name : values.keySet()) {
            if (name.startsWith(PREFIX) && !NAMES.contains(name)) {
                throw new IllegalArgumentException(
                        "There is no setting " + EventRules.show(name) + "; there are " + String.join(", ", NAMES));
            }
        }
        MemorySettings settings = new MemorySettings(values);
        settings.applyTo(MemoryOutbox.builder(new DefaultListenerRegistry())); // rejects invalid values
        return settings;
    }

    /** Whether events are delivered; default true. {@code INTEV_ENABLED}. */
    public boolean enabled() {
        String enabled = value(ENABLED);
        return enabled == null || isTrue(enabled);
    }

    /** Pause of the poller while there are no events; default 2 s. {@code INTEV_DISPATCH_INTERVAL_MS}. */
    public Duration interval() {
        return value(INTERVAL) == null ? DEFAULT_INTERVAL : Duration.ofMillis(number(INTERVAL));
    }

    /** Maximum number of events per poll cycle; default 100. {@code INTEV_BATCH_SIZE}. */
    public int batchSize() {
        return value(BATCH) == null ? DEFAULT_BATCH : number(BATCH);
    }

    /** Number of failed attempts after which an event is DEAD; default 5. {@code INTEV_MAX_ATTEMPTS}. */
    public int maxAttempts() {
        return value(ATTEMPTS) == null ? DEFAULT_ATTEMPTS : number(ATTEMPTS);
    }

    /** Delays after failed attempts; default 1 s, 5 s, 30 s, 2 min, 10 min. {@code INTEV_BACKOFF_SERIES}. */
    public List<Duration> backoff() {
        String backoff = value(BACKOFF);
        return backoff == null ? DEFAULT_BACKOFF : series(backoff);
    }

    /** Does not change settings that have no value here. */
    void applyTo(MemoryOutbox.Builder builder) {
        if (value(ENABLED) != null) {
            builder.enabled(enabled());
        }
        if (value(INTERVAL) != null) {
            builder.interval(interval());
        }
        if (value(BATCH) != null) {
            builder.batchSize(batchSize());
        }
        if (value(ATTEMPTS) != null) {
            builder.maxAttempts(maxAttempts());
        }
        if (value(BACKOFF) != null) {
            builder.backoff(backoff());
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

    private int number(String name) {
        return positive(name, String.valueOf(value(name)));
    }

    private static int positive(String name, String text) {
        try {
            int number = Integer.parseInt(text);
            if (number > 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            // handled by the throw below
        }
        throw wrong(name, text, "a positive number");
    }

    /** Parses milliseconds, with or without brackets: {@code [1000,5000]}. */
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
