package outbox;

import java.util.Objects;

/** An event type whose name is known only at run time. */
public record StringEventType(String name) implements EventType {

    public StringEventType {
        Objects.requireNonNull(name, "name");
        if (name.isEmpty()) {
            throw new IllegalArgumentException("The name of an event type must not be empty");
        }
    }

    public static StringEventType of(String name) {
        return new StringEventType(name);
    }

    @Override
    public String toString() {
        return name;
    }
}
