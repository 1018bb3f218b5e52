package outbox.internal.text;

import org.jspecify.annotations.Nullable;

/**
 * Replaces a throwable with unprintable text in a log. It has the same stack trace, and its text contains the same
 * class name in printable form. Never thrown.
 */
final class LoggedException extends RuntimeException {

    private static final long serialVersionUID = 1L;
    private static final int MOST = 50; // limit, because causes and suppressed throwables may form a cycle

    private LoggedException(String text, @Nullable Throwable cause) {
        super(text, cause);
    }

    /** Returns the throwable itself if everything that a log prints of it is printable, otherwise a copy. */
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

    /** Returns null if the throwable's own code fails. */
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

    /** Omits the name of this class, because the text begins with the class name of the original. */
    @Override
    @SuppressWarnings("OverrideThrowableToString") // a stack trace prints this, not the message
    public String toString() {
        return String.valueOf(getMessage());
    }
}
