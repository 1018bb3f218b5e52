package outbox.admin;

import outbox.OutboxException;

/**
 * A request failed on its way; part of it may be done, and its audit record says how much. The same request asked again changes nothing and answers that number; a new request
 * does the rest.
 */
public final class AdminRequestFailedException extends OutboxException {

    private static final long serialVersionUID = 1L;

    private final String requestId;
    private final long affected;

    AdminRequestFailedException(AdminAction action, String requestId, long affected, Throwable cause) {
        super(
                "Request " + requestId + " (" + action + ") failed after " + affected
                        + " events were changed and recorded in outbox_audit: " + cause.getMessage()
                        + ". Ask again with the same request id to learn what was done.",
                cause);
        this.requestId = requestId;
        this.affected = affected;
    }

    public String requestId() {
        return requestId;
    }

    /** How many events were certainly changed; the transaction that failed may have changed up to 500 more if its commit was lost. */
    public long affected() {
        return affected;
    }
}
