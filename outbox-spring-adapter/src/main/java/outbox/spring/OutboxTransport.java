package outbox.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Placed on the class of any bean, says which events go to RabbitMQ, and to which exchange. It has the same effect
 * as properties under {@code outbox.rabbitmq.routes}. If both match the same events, the properties win. Texts may
 * contain {@code ${…}} placeholders.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@Repeatable(OutboxTransport.Routes.class)
public @interface OutboxTransport {

    /** Event types. {@code *} matches any sequence of characters. */
    String[] type();

    /** The aggregate type. {@code *} matches any sequence of characters. */
    String aggregate() default "*";

    String outbox() default Outbox.DEFAULT;

    /**
     * The exchange. {@code {type}}, {@code {aggregate}}, {@code {aggregateId}} and {@code {header:name}} are
     * replaced with the values of the event. An empty text means the default exchange of the broker, where the
     * routing key is a queue name.
     */
    String exchange();

    /** The routing key, with the same placeholders. */
    String routingKey() default "{type}";

    /** The container of repeated annotations. */
    @Documented
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    @interface Routes {
        OutboxTransport[] value();
    }
}
