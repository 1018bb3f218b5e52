package outbox.spring.boot.actuate;

/** An operation of the endpoint cannot be executed as requested. Contains the HTTP status. */
final class RefusedOperationException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    static final int BAD_REQUEST = 400;
    static final int FORBIDDEN = 403;
    static final int NOT_FOUND = 404;
    static final int TOO_MANY_REQUESTS = 429;
    static final int UNAVAILABLE = 503;

    private final int status;

    RefusedOperationException(int status, String message) {
        super(message);
        this.status = status;
    }

    int status() {
        return status;
    }

    String text() {
        return String.valueOf(getMessage());
    }
}
