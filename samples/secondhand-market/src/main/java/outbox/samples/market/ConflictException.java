package outbox.samples.market;

/** A conditional update changed no row: the product or order is not in the state that the request needs. */
class ConflictException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    ConflictException(String message) {
        super(message);
    }
}
