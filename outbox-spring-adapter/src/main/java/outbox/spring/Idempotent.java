package outbox.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs the method once per message, by the inbox: its mark and what the method does in Spring's transaction take effect together or not at all. A copy of a message that was handled is
 * skipped, and the method answers null. For methods with {@code @RabbitListener} or {@code @OutboxListener}; with a key, for any method of a bean.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Idempotent {

    /** Who handles the messages: each consumer handles a message once. It must stay the same for ever. May hold {@code ${…}}. */
    String consumer();

    /**
     * What makes two messages the same, as an expression of Spring: arguments by their names ({@code #order.id}), {@code headers['name']}, {@code id}. Empty, the default: the id of the message;
     * of an event of the outbox, its deduplication key if it has one, else its id.
     */
    String key() default "";
}
