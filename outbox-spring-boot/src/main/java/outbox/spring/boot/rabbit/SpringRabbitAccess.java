package outbox.spring.boot.rabbit;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.amqp.rabbit.connection.AbstractConnectionFactory;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.util.ReflectionUtils;
import outbox.internal.text.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;

/**
 * Reads the broker settings of a Spring AMQP connection factory. The list of nodes is accessible only to its
 * subclasses, so it is read by reflection. Without it, a transport would know only the first node.
 */
final class SpringRabbitAccess {

    private static final Logger LOG = SafeLogger.of(SpringRabbitAccess.class);
    private static final @Nullable Method ADDRESSES =
            ReflectionUtils.findMethod(AbstractConnectionFactory.class, "getAddresses");

    private SpringRabbitAccess() {}

    static @Nullable Object find(BeanFactory beans) {
        return beans.getBeanProvider(org.springframework.amqp.rabbit.connection.ConnectionFactory.class)
                .getIfAvailable();
    }

    static @Nullable RabbitAccess of(Object bean) {
        if (!(bean instanceof AbstractConnectionFactory springs)) {
            return null;
        }
        ConnectionFactory factory = springs.getRabbitConnectionFactory();
        return new RabbitAccess(factory, needsAddresses(springs, factory) ? () -> addresses(springs) : null);
    }

    private static boolean needsAddresses(AbstractConnectionFactory springs, ConnectionFactory factory) {
        if (ADDRESSES == null) {
            LOG.log(
                    Level.WARNING,
                    "This version of Spring AMQP does not tell the nodes of the broker; only {0}:{1} is used",
                    factory.getHost(),
                    String.valueOf(factory.getPort()));
            return false;
        }
        ReflectionUtils.makeAccessible(ADDRESSES);
        try {
            List<Address> nodes = addresses(springs);
            return nodes.size() > 1
                    || nodes.size() == 1 && !nodes.get(0).equals(new Address(factory.getHost(), factory.getPort()));
        } catch (IOException e) { // from a resolver; the next connection attempt may succeed
            return true;
        }
    }

    @SuppressWarnings("unchecked") // the method declares a list of this type
    private static List<Address> addresses(AbstractConnectionFactory springs) throws IOException {
        try {
            Object nodes = ADDRESSES == null ? null : ADDRESSES.invoke(springs);
            return nodes == null ? List.of() : (List<Address>) nodes;
        } catch (InvocationTargetException e) {
            throw new IOException("The nodes of the broker cannot be found out", e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("It was made accessible", e);
        }
    }

    /** Reflection hints for native images. */
    static final class Hints implements RuntimeHintsRegistrar {

        @Override
        public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
            if (ADDRESSES != null) {
                hints.reflection().registerMethod(ADDRESSES, ExecutableMode.INVOKE);
            }
        }
    }
}
