package outbox.testing;

/** Converts an {@link InterruptedException} for methods that cannot throw it, and restores the interrupt flag. */
final class Interrupted {
    private Interrupted() {}

    static IllegalStateException during(String what, InterruptedException cause) {
        Thread.currentThread().interrupt();
        return new IllegalStateException("Interrupted while " + what, cause);
    }
}
