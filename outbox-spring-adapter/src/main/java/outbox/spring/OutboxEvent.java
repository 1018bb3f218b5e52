package outbox.spring;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes objects of a class events of the outbox: one that is published by Spring's {@code ApplicationEventPublisher} is written in the caller's transaction, with the object as its payload. Outside a
 * transaction the publication is refused. For plain objects; a subclass of Spring's {@code ApplicationEvent} is not written.
 *
 * <p>{@link #aggregateId}, {@link #key} and {@link #tenant} say where in the object the value is: the name of a record component or property, such as {@code orderId}, or a text with expressions of
 * Spring on the object, such as {@code #{customer.id}} or {@code order-#{id}}. {@link #type}, {@link #aggregate} and {@link #outbox} are the texts themselves, and may hold {@code ${placeholders}}.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@Reflective(EventClassHints.class)
public @interface OutboxEvent {

    /** The same as {@link #type}. */
    @AliasFor("type")
    String value() default "";

    /** The event type; required. */
    @AliasFor("value")
    String type() default "";

    /** The aggregate type; default {@link outbox.AggregateType#GLOBAL}. */
    String aggregate() default "";

    /** Where the aggregate id is; default: the event has none. */
    String aggregateId() default "";

    /** Where the key is that at most one unfinished event has, see {@link outbox.EventEnvelope.Builder#dedupKey}; default: the event has none. */
    String key() default "";

    /** The version of the payload's form; at least 1. */
    int version() default 1;

    /** Where the tenant is; default: the event has none. The tenant of an object may be null. */
    String tenant() default "";

    /** The outbox, by its name. */
    String outbox() default Outbox.DEFAULT;
}
