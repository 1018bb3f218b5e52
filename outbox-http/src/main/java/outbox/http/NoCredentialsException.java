package outbox.http;

import org.jspecify.annotations.Nullable;

/** There is no value for the header Authorization. The message does not show what was there instead. */
final class NoCredentialsException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    NoCredentialsException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
