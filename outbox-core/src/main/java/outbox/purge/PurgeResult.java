package outbox.purge;

/** The number of events that a run deleted, by status. */
public record PurgeResult(long done, long dead) {

    public PurgeResult {
        if (done < 0 || dead < 0) {
            throw new IllegalArgumentException("Counts must not be negative: " + done + ", " + dead);
        }
    }

    /** Returns the sum of both. */
    public long total() {
        return done + dead;
    }
}
