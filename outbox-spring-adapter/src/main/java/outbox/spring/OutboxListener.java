package outbox.spring;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes a method of a bean the listener of events, with the contract of {@link outbox.EventListener}: each event has
 * one listener.
 *
 * <p>The method declares the parameters that it needs, in any order: the payload as any type that the
 * {@link outbox.payload.PayloadCodec} reads, as a {@code String} or as {@code byte[]}; the
 * {@link outbox.EventEnvelope}; all headers as a {@code Map<String, String>}; a single {@link Header}; the number of
 * the {@link Attempt}. It returns nothing, a {@link outbox.DeliveryOutcome}, or a
 * {@link java.util.concurrent.CompletionStage} if it completes later. A method with a {@code List} of payloads, a
 * {@code List} of envelopes, or both receives several events in one call. It returns nothing or a
 * {@link outbox.BatchEventListener.Outcome}.
 *
 * <p>All texts may contain {@code ${placeholders}}. An empty attribute means the setting of the outbox.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Reflective(ListenerMethodHints.class)
public @interface OutboxListener {

    /** Alias for {@link #type}. */
    @AliasFor("type")
    String[] value() default {};

    /**
     * The event types. {@code *} matches any sequence of characters. Default: the type of the payload's
     * {@link OutboxEvent}.
     */
    @AliasFor("value")
    String[] type() default {};

    /**
     * The aggregate type. {@code *} matches any sequence of characters. Default: the aggregate type of the payload's
     * {@link OutboxEvent} if it has the same event type, else {@link outbox.AggregateType#GLOBAL}.
     */
    String aggregate() default "";

    /** The name of the outbox. */
    String outbox() default Outbox.DEFAULT;

    /**
     * The name of the listener in rules, limits and pauses. Default: its route, or {@code bean.method} if it has
     * several routes.
     */
    String name() default "";

    /** The number of failed attempts after which an event is DEAD; at least 1. */
    String attempts() default "";

    /**
     * The delay after a failed attempt: {@code exponential 1s..10m}, {@code linear 5s..1m}, {@code fixed 5s},
     * {@code series 5s,30s,2m}, or the name of a {@link outbox.dispatch.RetryPolicy} bean.
     */
    String retry() default "";

    /**
     * The time limit of the method, such as {@code 30s}. After it, the method is interrupted and the attempt fails.
     */
    String timeLimit() default "";

    /** The maximum number of events that the method handles at the same time on one node; at least 1. */
    String concurrency() default "";

    /** The maximum number of events in one call, if the method takes a list. */
    int batchSize() default 100;
}
