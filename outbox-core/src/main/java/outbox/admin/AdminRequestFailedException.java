package outbox.admin;

import outbox.OutboxException;

/**
 * A request failed and may have been executed in part; its audit record contains the number of changed events. The
 * same request, repeated, changes nothing and returns that number. A new request does the rest.
 */
public final class AdminRequestFailedException extends OutboxException {

    private static final long serialVersionUID = 1L;

    private final String requestId;
    private final long affected;

    public AdminRequestFailedException(AdminAction action, String requestId, long affected, Throwable cause) {
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

    /**
     * The number of events that were certainly changed. If the commit of the failed transaction took effect but its
     * response was lost, up to 500 more events were changed.
     */
    public long affected() {
        return affected;
    }
}
