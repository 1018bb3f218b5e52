package outbox.spring;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a class whose objects are events of the outbox. When such an object is published by Spring's
 * {@code ApplicationEventPublisher}, it is written in the caller's transaction, and the object is the payload.
 * Publishing outside a transaction throws an exception. The class must not extend Spring's {@code ApplicationEvent};
 * such objects are not written.
 *
 * <p>{@link #aggregateId}, {@link #key} and {@link #tenant} say how to read the value from the object. They are the
 * name of a record component or property, such as {@code orderId}, or a text with Spring expressions on the object,
 * such as {@code #{customer.id}} or {@code order-#{id}}. {@link #type}, {@link #aggregate} and {@link #outbox} are
 * used as they are, and may contain {@code ${placeholders}}.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@Reflective(EventClassHints.class)
public @interface OutboxEvent {

    /** Alias for {@link #type}. */
    @AliasFor("type")
    String value() default "";

    /** The event type; required. */
    @AliasFor("value")
    String type() default "";

    /** The aggregate type; default {@link outbox.AggregateType#GLOBAL}. */
    String aggregate() default "";

    /** How to read the aggregate id from the object; default: the event has none. */
    String aggregateId() default "";

    /**
     * How to read the deduplication key from the object. At most one unfinished event has the same key, see
     * {@link outbox.EventEnvelope.Builder#dedupKey}; default: the event has none.
     */
    String key() default "";

    /** The version of the payload format; at least 1. */
    int version() default 1;

    /** How to read the tenant from the object; default: the event has none. The value may be null. */
    String tenant() default "";

    /** The name of the outbox. */
    String outbox() default Outbox.DEFAULT;
}
