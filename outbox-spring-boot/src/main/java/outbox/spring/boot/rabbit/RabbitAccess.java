package outbox.spring.boot.rabbit;

import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.util.ClassUtils;

/**
 * The connection of the application to its broker.
 *
 * @param addresses the nodes of the broker, or null if there is only one
 */
record RabbitAccess(ConnectionFactory factory, @Nullable AddressResolver addresses) {

    private static final boolean SPRING_AMQP = ClassUtils.isPresent(
            "org.springframework.amqp.rabbit.connection.AbstractConnectionFactory",
            RabbitAccess.class.getClassLoader());

    /** Uses the named bean, else a connection factory bean of the RabbitMQ client, else that of Spring AMQP. */
    static RabbitAccess of(BeanFactory beans, @Nullable String name) {
        if (name != null) {
            return of(
                    beans.getBean(name),
                    "bean " + name + " of " + OutboxRabbitProperties.PREFIX + ".connection-factory");
        }
        try {
            ConnectionFactory own =
                    beans.getBeanProvider(ConnectionFactory.class).getIfAvailable();
            if (own != null) {
                return new RabbitAccess(own, null);
            }
            Object springs = SPRING_AMQP ? SpringRabbitAccess.find(beans) : null;
            if (springs != null) {
                return of(springs, "the connection factory");
            }
        } catch (NoUniqueBeanDefinitionException e) {
            throw new IllegalStateException(
                    "There are several connection factories for RabbitMQ: " + e.getBeanNamesFound() + ". Name one by "
                            + OutboxRabbitProperties.PREFIX + ".connection-factory, or make one primary.",
                    e);
        }
        throw new IllegalStateException(
                "Routes to RabbitMQ need a connection factory: add spring-boot-starter-amqp, or a bean of type "
                        + ConnectionFactory.class.getName() + ".");
    }

    private static RabbitAccess of(Object bean, String what) {
        if (bean instanceof ConnectionFactory own) {
            return new RabbitAccess(own, null);
        }
        RabbitAccess access = SPRING_AMQP ? SpringRabbitAccess.of(bean) : null;
        if (access == null) {
            throw new IllegalStateException(
                    "The transport keeps a connection of its own to RabbitMQ, and cannot make it by "
                            + what + ", a " + bean.getClass().getName() + ". Give it a bean of type "
                            + ConnectionFactory.class.getName() + ".");
        }
        return access;
    }
}
