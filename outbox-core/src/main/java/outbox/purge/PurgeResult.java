package outbox.purge;

/** How many events a run deleted. */
public record PurgeResult(long done, long dead) {

    public PurgeResult {
        if (done < 0 || dead < 0) {
            throw new IllegalArgumentException("Counts must not be negative: " + done + ", " + dead);
        }
    }

    /** Both together. */
    public long total() {
        return done + dead;
    }
}
