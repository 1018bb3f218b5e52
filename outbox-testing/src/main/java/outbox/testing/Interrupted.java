package outbox.testing;

/** Keeps an interrupt visible where the signature of a method has no room for it. */
final class Interrupted {
    private Interrupted() {}

    static IllegalStateException during(String what, InterruptedException cause) {
        Thread.currentThread().interrupt();
        return new IllegalStateException("Interrupted while " + what, cause);
    }
}
