package outbox.internal;

import outbox.spi.ErrorText;

/** Returns the first line of an error, for health checks. The following lines of a database error may quote rows. */
public final class ErrorLine {

    private ErrorLine() {}

    public static String of(Throwable failure) {
        return ErrorText.of(failure).lines().findFirst().orElse("");
    }
}
