package outbox;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * Refers to an event by its id or by its {@code dedupKey}, which at most one unfinished event has. Exactly one of
 * the two is set.
 */
public record EventRef(@Nullable String eventId, @Nullable String dedupKey) {

    public EventRef {
        if ((eventId == null) == (dedupKey == null)) {
            throw new IllegalArgumentException("An event is named by its id or by its dedupKey");
        }
    }

    public static EventRef id(String eventId) {
        return new EventRef(Objects.requireNonNull(eventId, "eventId"), null);
    }

    public static EventRef key(String dedupKey) {
        return new EventRef(null, Objects.requireNonNull(dedupKey, "dedupKey"));
    }
}
