package outbox.admin;

import java.time.Instant;
import java.util.Objects;

/**
 * Something that is paused on all nodes, until it is resumed.
 *
 * @param name of the event type or listener; empty for the whole outbox
 * @param since by the database's clock
 * @param by who paused it
 * @param reason why
 */
public record Pause(PauseScope scope, String name, Instant since, String by, String reason) {

    /** Size of the column {@code name}. */
    public static final int MAX_NAME_LENGTH = 256;

    public Pause {
        Objects.requireNonNull(scope, "scope");
        Objects.requireNonNull(since, "since");
        if (name.isEmpty() != (scope == PauseScope.OUTBOX)) {
            throw new IllegalArgumentException(
                    scope == PauseScope.OUTBOX ? "A pause of the whole outbox has no name" : "name must not be empty");
        }
    }
}
