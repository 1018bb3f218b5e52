package outbox.relay;

import java.lang.reflect.Method;

/** A method that is marked by {@link Subscribe} returns something; the bus could not tell a failure from a success. */
public final class InvalidHandlerReturnException extends IllegalArgumentException {

    /** Does not change between versions; the message begins with it. */
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
