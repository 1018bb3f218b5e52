package outbox.http;

import outbox.OutboxException;

/**
 * The endpoint returned a status that may change on a later attempt, without {@code Retry-After}. The attempt failed.
 */
public final class HttpStatusException extends OutboxException {

    private static final long serialVersionUID = 1L;

    private final int status;

    HttpStatusException(int status, String message) {
        super(message, null);
        this.status = status;
    }

    public int status() {
        return status;
    }
}
