package outbox.testing.internal;

/** Converts an {@link InterruptedException} for methods that cannot throw it, and restores the interrupt flag. */
public final class Interrupted {
    private Interrupted() {}

    public static IllegalStateException during(String what, InterruptedException cause) {
        Thread.currentThread().interrupt();
        return new IllegalStateException("Interrupted while " + what, cause);
    }
}
