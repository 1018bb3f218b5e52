package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import outbox.spring.boot.diagnostics.OutboxStartException;

import java.time.Duration;

/**
 * Refuses wrong values of properties. Its messages contain the full name of the property, because a properties
 * record does not know the prefix it was bound with.
 */
public final class PropertyCheck {

    public static final Duration YEAR = Duration.ofDays(365);
    private static final Duration MILLISECOND = Duration.ofMillis(1);

    private final String prefix;

    private PropertyCheck(String prefix) {
        this.prefix = prefix;
    }

    /** Creates a check for keys under this prefix, such as {@code outbox.named.orders}. */
    public static PropertyCheck of(String prefix) {
        return new PropertyCheck(prefix);
    }

    /**
     * Creates a check for keys under this key. A key that contains dots, such as an event type, must be in brackets.
     */
    public PropertyCheck at(String key) {
        return new PropertyCheck(prefix + "." + key);
    }

    /** Creates a check for keys of a map entry, named as it is written in properties. */
    public PropertyCheck entry(String map, String key) {
        return new PropertyCheck(prefix + "." + map + (key.matches("[a-z0-9-]+") ? "." + key : "[" + key + "]"));
    }

    /** Returns the full name of a key. */
    public String name(String key) {
        return prefix + "." + key;
    }

    public int between(String key, int value, int least, int most) {
        return (int) between(key, (long) value, least, most);
    }

    public long between(String key, long value, long least, long most) {
        if (value < least || value > most) {
            throw refuse(
                    key,
                    value,
                    most == Integer.MAX_VALUE || most == Long.MAX_VALUE
                            ? "at least " + least
                            : "between " + least + " and " + most);
        }
        return value;
    }

    public Duration between(String key, Duration value, Duration least, Duration most) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            throw refuse(key, text(value), "between " + text(least) + " and " + text(most));
        }
        return value;
    }

    /** Requires at least a millisecond and at most a year. */
    public Duration positive(String key, Duration value) {
        return between(key, value, MILLISECOND, YEAR);
    }

    public String notBlank(String key, @Nullable String value) {
        if (value == null || value.isBlank()) {
            throw refuse(key, value, "a text");
        }
        return value;
    }

    /** Returns the exception for a wrong value. */
    public OutboxStartException refuse(String key, @Nullable Object value, String allowed) {
        return new OutboxStartException(
                "Property " + name(key) + " is '" + (value == null ? "" : value) + "', but must be " + allowed,
                "Set " + name(key) + " to a value that is " + allowed + ", or leave it out.");
    }

    /** Returns the text as it is written in properties: 5s instead of PT5S. */
    private static String text(Duration value) {
        long millis = value.toMillis();
        if (millis == 0 || millis % 1000 != 0) {
            return millis == 0 ? "0" : millis + "ms";
        }
        long seconds = millis / 1000;
        if (seconds % 86_400 == 0) {
            return seconds / 86_400 + "d";
        }
        return seconds % 60 == 0 ? seconds / 60 + "m" : seconds + "s";
    }
}
