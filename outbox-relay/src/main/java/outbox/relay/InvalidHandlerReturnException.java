package outbox.relay;

import java.lang.reflect.Method;

/**
 * A method with the annotation {@link Subscribe} does not return void. The bus could not tell a failure
 * from a success.
 */
public final class InvalidHandlerReturnException extends IllegalArgumentException {

    /** The error code. It does not change between versions. The message begins with it. */
    public static final String CODE = "EVENTBUS_INVALID_HANDLER_RETURN";

    private static final long serialVersionUID = 1L;

    InvalidHandlerReturnException(Method method) {
        super(CODE + ": method " + method
                + " cannot be a subscriber: it must return void. A failure is thrown, not returned.");
    }

    public String code() {
        return CODE;
    }
}
