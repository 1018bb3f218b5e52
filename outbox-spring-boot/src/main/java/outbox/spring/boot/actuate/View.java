package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.time.temporal.Temporal;
import java.util.Collection;
import java.util.LinkedHashMap;

/**
 * Named values in the order of insertion, for health and endpoint. Times, durations and constants become texts. Maps
 * of simple values need no reflection, and every JSON library writes them in the same way.
 */
final class View extends LinkedHashMap<String, Object> {

    private static final long serialVersionUID = 1L;

    /** Adds a value unless it is null or an empty collection. */
    View with(String key, @Nullable Object value) {
        if (value instanceof Temporal || value instanceof Duration || value instanceof Enum) {
            put(key, value.toString());
        } else if (value != null && !(value instanceof Collection<?> many && many.isEmpty())) {
            put(key, value);
        }
        return this;
    }
}
