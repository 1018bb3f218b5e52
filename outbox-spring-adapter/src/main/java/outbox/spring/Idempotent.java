package outbox.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs the method once per message, with the help of the inbox. The inbox mark and the work of the method in
 * Spring's transaction are committed together or not at all. If the message was already handled, the method is
 * skipped and the call returns null. Can be used on methods with {@code @RabbitListener} or {@code @OutboxListener};
 * with a key, on any method of a bean.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Idempotent {

    /**
     * The name of the consumer. Each consumer handles a message once. The name must never change. May contain
     * {@code ${…}} placeholders.
     */
    String consumer();

    /**
     * A Spring expression that identifies the message; two messages with the same key are duplicates. It can use
     * arguments by name ({@code #order.id}), {@code headers['name']} and {@code id}. Default: the id of the message.
     * For an outbox event, the default is its deduplication key if it has one, else its id.
     */
    String key() default "";
}
