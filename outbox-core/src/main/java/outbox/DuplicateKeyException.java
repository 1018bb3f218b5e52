package outbox;

import outbox.internal.EventRules;

/** Another event has the {@code dedupKey}, and the writer was told to refuse that. Nothing of the write was kept, and the caller's transaction can go on. */
public final class DuplicateKeyException extends OutboxException {

    private static final long serialVersionUID = 1L;

    private final String dedupKey;
    private final String firstId;

    public DuplicateKeyException(String dedupKey, String firstId) {
        super("Event " + firstId + " has the dedupKey " + EventRules.show(dedupKey) + " already", null);
        this.dedupKey = dedupKey;
        this.firstId = firstId;
    }

    public String dedupKey() {
        return dedupKey;
    }

    /** The id of the event that has the key. */
    public String firstId() {
        return firstId;
    }
}
