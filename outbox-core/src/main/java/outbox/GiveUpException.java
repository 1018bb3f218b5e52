package outbox;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/** A listener's word that no further attempt makes sense: the event is DEAD at once, with this text as its reason, and the attempt counts. */
public class GiveUpException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public GiveUpException(String why) {
        this(why, null);
    }

    public GiveUpException(String why, @Nullable Throwable cause) {
        super(Objects.requireNonNull(why, "why"), cause);
    }
}
