package outbox.relay;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method as a subscriber of an {@link EventBus}. The method must return void. Its parameters are a
 * {@link Meta} and the payload as a {@link String}, or one {@link DispatchedMessage}.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Subscribe {

    /** The topic. */
    String value();
}
