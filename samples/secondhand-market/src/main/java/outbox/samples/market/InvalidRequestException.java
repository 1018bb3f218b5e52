package outbox.samples.market;

/** The body of a request is invalid. The message says what is required. */
class InvalidRequestException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    InvalidRequestException(String needed) {
        super(needed);
    }
}
