package outbox;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * Thrown by a listener if further attempts make no sense. The event becomes DEAD immediately with this message as
 * the reason, and the attempt is counted.
 */
public class GiveUpException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public GiveUpException(String why) {
        this(why, null);
    }

    public GiveUpException(String why, @Nullable Throwable cause) {
        super(Objects.requireNonNull(why, "why"), cause);
    }
}
