package outbox;

/** A write could not become part of a business transaction. Thrown before any SQL runs. */
public class TransactionStateException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    public TransactionStateException(String message) {
        super(message);
    }
}
