package outbox;

/** An event that cannot be stored or delivered as it is. Thrown before any SQL, so the caller's transaction is untouched and can still commit. */
public class InvalidEventException extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    public InvalidEventException(String message) {
        super(message);
    }
}
