package outbox.internal;

/** The error text of an event whose deadline passed before its delivery started. */
public final class Expiry {

    public static final String REASON = "Expired: it was not started by its deadline";

    private Expiry() {}
}
