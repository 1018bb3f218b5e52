package outbox.spring;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes a method of a bean the listener of events, on the terms of {@link outbox.EventListener}: each event has one.
 *
 * <p>The method takes, in any order, what it needs: the payload as any type that the {@link outbox.payload.PayloadCodec} reads, as a {@code String} or as {@code byte[]}; the
 * {@link outbox.EventEnvelope}; all headers as a {@code Map<String, String>}; a {@link Header}; the number of the {@link Attempt}. It returns nothing, a {@link outbox.DeliveryOutcome}, or a
 * {@link java.util.concurrent.CompletionStage} if it ends later. A method that takes a {@code List} of payloads or of envelopes, or both, gets several events in one call and returns
 * nothing or a {@link outbox.BatchOutcome}.
 *
 * <p>All texts may hold {@code ${placeholders}}; what is empty is as the outbox has it.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Reflective(ListenerMethodHints.class)
public @interface OutboxListener {

    /** The same as {@link #type}. */
    @AliasFor("type")
    String[] value() default {};

    /** The event types, in which {@code *} stands for any run of characters; default: that of the payload's {@link OutboxEvent}. */
    @AliasFor("value")
    String[] type() default {};

    /** The aggregate type, {@code *} as in {@link #type}; default: that of the payload's {@link OutboxEvent} if it has the same type, else {@link outbox.AggregateType#GLOBAL}. */
    String aggregate() default "";

    /** The outbox, by its name. */
    String outbox() default Outbox.DEFAULT;

    /** The name under which rules, limits and pauses know the listener; default: its route, or {@code bean.method} if it has several. */
    String name() default "";

    /** After how many failed attempts an event is DEAD; at least 1. */
    String attempts() default "";

    /** How long an event waits after a failed attempt: {@code exponential 1s..10m}, {@code linear 5s..1m}, {@code fixed 5s}, {@code series 5s,30s,2m}, or the name of a bean, a {@link outbox.dispatch.RetryPolicy}. */
    String retry() default "";

    /** How long the method may run before it is interrupted and its attempt has failed, such as {@code 30s}. */
    String timeLimit() default "";

    /** How many events the method may have at a time on one node; at least 1. */
    String concurrency() default "";

    /** How many events a call may hold, if the method takes a list. */
    int batchSize() default 100;
}
