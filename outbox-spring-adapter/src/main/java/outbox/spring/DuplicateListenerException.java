package outbox.spring;

/** Two listeners match the same events. Each event must have exactly one listener. */
public final class DuplicateListenerException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    public DuplicateListenerException(String message) {
        super(message);
    }
}
