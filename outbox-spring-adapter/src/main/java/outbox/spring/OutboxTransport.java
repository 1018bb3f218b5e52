package outbox.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Says, on the class of any bean, which events go to RabbitMQ, and where. The same as properties under {@code outbox.rabbitmq.routes}, which win where both name the same events. Texts may
 * hold {@code ${…}}.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@Repeatable(OutboxTransport.Routes.class)
public @interface OutboxTransport {

    /** Types of events, in which {@code *} stands for any run of characters. */
    String[] type();

    /** Types of aggregates, as patterns too. */
    String aggregate() default "*";

    String outbox() default Outbox.DEFAULT;

    /** The exchange, in which {@code {type}}, {@code {aggregate}}, {@code {aggregateId}} and {@code {header:name}} stand for what the event has; empty for that of the broker, whose keys are queues. */
    String exchange();

    /** The routing key, with the same placeholders. */
    String routingKey() default "{type}";

    /** Holds several. */
    @Documented
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    @interface Routes {
        OutboxTransport[] value();
    }
}
