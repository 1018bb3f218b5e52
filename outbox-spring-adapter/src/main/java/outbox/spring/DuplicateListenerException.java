package outbox.spring;

/** Two listeners are for the same events, of which each can have one. */
public final class DuplicateListenerException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    public DuplicateListenerException(String message) {
        super(message);
    }
}
