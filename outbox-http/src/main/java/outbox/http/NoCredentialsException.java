package outbox.http;

import org.jspecify.annotations.Nullable;

/** There is no valid value for the header Authorization. The message does not contain the value. */
final class NoCredentialsException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    NoCredentialsException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
