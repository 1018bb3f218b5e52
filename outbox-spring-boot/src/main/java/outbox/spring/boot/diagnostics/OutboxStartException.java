package outbox.spring.boot.diagnostics;

/** An application cannot start with its outbox. The message says why, and {@link #action} what to do. */
public final class OutboxStartException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String action;

    public OutboxStartException(String message, String action) {
        super(message);
        this.action = action;
    }

    /** Returns what to do. */
    public String action() {
        return action;
    }
}
