package outbox.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A header of the event, for a parameter of an {@link OutboxListener}: a {@code String}, null if the event does not
 * have it, or an {@code Optional<String>}.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.PARAMETER)
public @interface Header {

    /** The name of the header. */
    String value();
}
