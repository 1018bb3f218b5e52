package outbox.admin;

import java.time.Instant;
import java.util.Objects;

/**
 * A pause that applies to all nodes until it is resumed.
 *
 * @param name the name of the event type or listener; empty for the whole outbox
 * @param since the start by the database clock
 * @param by who paused it
 * @param reason why it was paused
 */
public record Pause(Scope scope, String name, Instant since, String by, String reason) {

    /** The size of column {@code name}. */
    public static final int MAX_NAME_LENGTH = 256;

    public Pause {
        Objects.requireNonNull(scope, "scope");
        Objects.requireNonNull(since, "since");
        if (name.isEmpty() != (scope == Scope.OUTBOX)) {
            throw new IllegalArgumentException(
                    scope == Scope.OUTBOX ? "A pause of the whole outbox has no name" : "name must not be empty");
        }
    }

    /** What a pause stops. */
    public enum Scope {
        /** Every event of the outbox. */
        OUTBOX,
        /** Events of one type, with any aggregate type. */
        TYPE,
        /**
         * Events of one listener, by its name: {@link outbox.EventListener#listenerName}, or
         * {@code aggregateType:eventType}.
         */
        LISTENER
    }
}
