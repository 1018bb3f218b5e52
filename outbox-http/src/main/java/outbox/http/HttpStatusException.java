package outbox.http;

import outbox.OutboxException;

/** The endpoint answered with a status that may be another one next time, and did not say when: the attempt has failed. */
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
