package outbox;

import outbox.internal.EventRules;

/**
 * Another event already has the {@code dedupKey}, and the writer rejects duplicates. No event of the write was
 * stored, and the caller's transaction can continue.
 */
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

    /** The id of the event that already has the key. */
    public String firstId() {
        return firstId;
    }
}
