package outbox.internal;

/** What is said about an event whose deadline passed before it was started. */
public final class Expiry {

    public static final String REASON = "Expired: it was not started by its deadline";

    private Expiry() {}
}
