package outbox;

/**
 * The event is invalid and cannot be stored or delivered. Thrown before any SQL runs, so the caller's transaction is
 * not affected and can still commit.
 */
public class InvalidEventException extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    public InvalidEventException(String message) {
        super(message);
    }
}
