package outbox.samples.market;

/** The body of a request is not what it should be; its message says what is needed. */
class InvalidRequestException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    InvalidRequestException(String needed) {
        super(needed);
    }
}
