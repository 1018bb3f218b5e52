package outbox.spi;

import org.jspecify.annotations.Nullable;

/**
 * Stands in a log for a throwable whose text is not printable: the same stack trace, the same class name in the text,
 * printable. Never thrown.
 */
final class LoggedException extends RuntimeException {

    private static final long serialVersionUID = 1L;
    private static final int MOST = 50; // throwables that are looked at: causes and suppressed ones may be a circle

    private LoggedException(String text, @Nullable Throwable cause) {
        super(text, cause);
    }

    /** The throwable itself if all that a log prints of it is printable, else a copy. */
    static Throwable printable(Throwable thrown) {
        return isPrintable(thrown, new int[] {MOST}) ? thrown : copy(thrown, new int[] {MOST});
    }

    private static boolean isPrintable(Throwable thrown, int[] left) {
        String text = describe(thrown);
        if (left[0]-- <= 0
                || text == null
                || text.length() > SafeLogger.MAX_LENGTH
                || !PrintableText.of(text).equals(text)) {
            return false;
        }
        for (Throwable suppressed : thrown.getSuppressed()) {
            if (!isPrintable(suppressed, left)) {
                return false;
            }
        }
        Throwable cause = causeOf(thrown);
        return cause == null || isPrintable(cause, left);
    }

    private static LoggedException copy(Throwable thrown, int[] left) {
        left[0]--;
        String text = describe(thrown);
        Throwable cause = left[0] > 0 ? causeOf(thrown) : null;
        LoggedException copy = new LoggedException(
                text == null
                        ? thrown.getClass().getName() + " (its text cannot be read)"
                        : PrintableText.of(text, SafeLogger.MAX_LENGTH),
                cause == null ? null : copy(cause, left));
        copy.setStackTrace(thrown.getStackTrace());
        for (Throwable suppressed : thrown.getSuppressed()) {
            if (left[0] > 0) {
                copy.addSuppressed(copy(suppressed, left));
            }
        }
        return copy;
    }

    /** Null if it fails: a throwable is code of others too. */
    private static @Nullable String describe(Throwable thrown) {
        try {
            return String.valueOf(thrown);
        } catch (Throwable hostile) {
            return null;
        }
    }

    private static @Nullable Throwable causeOf(Throwable thrown) {
        try {
            return thrown.getCause();
        } catch (Throwable hostile) {
            return null;
        }
    }

    /** Without the name of this class: the text begins with that of the original. */
    @Override
    @SuppressWarnings("OverrideThrowableToString") // a stack trace prints this, not the message
    public String toString() {
        return String.valueOf(getMessage());
    }
}
