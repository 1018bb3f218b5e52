package outbox;

/** A write at a moment when it could not become part of the business transaction. Thrown before any SQL. */
public class TransactionStateException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    public TransactionStateException(String message) {
        super(message);
    }
}
