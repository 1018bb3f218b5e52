package outbox.spring.boot;

import org.springframework.boot.amqp.autoconfigure.RabbitAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.test.util.ReflectionTestUtils;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.testing.server.RabbitServer;

import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Applications with transports, inbox and reconciliation, each on its own database in memory. */
public final class Contexts {

    private Contexts() {}

    public static ApplicationContextRunner runner() {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        DataSourceAutoConfiguration.class,
                        DataSourceTransactionManagerAutoConfiguration.class,
                        JdbcTemplateAutoConfiguration.class,
                        JdbcClientAutoConfiguration.class,
                        TransactionAutoConfiguration.class,
                        SslAutoConfiguration.class,
                        OutboxAutoConfiguration.class))
                .withConfiguration(AutoConfigurations.of(EngineRunner.ours("rabbit", "http", "inbox", "reconcile")));
    }

    /** Uses a virtual host of a real broker. */
    public static ApplicationContextRunner rabbit() {
        RabbitServer server = RabbitServer.shared();
        return runner().withConfiguration(AutoConfigurations.of(RabbitAutoConfiguration.class))
                .withPropertyValues(
                        "spring.rabbitmq.host=127.0.0.1",
                        "spring.rabbitmq.port=" + server.port(),
                        "spring.rabbitmq.virtual-host=" + server.createVirtualHost());
    }

    public static void inTransaction(ApplicationContext context, Runnable work) {
        new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                .executeWithoutResult(status -> work.run());
    }

    public static void write(ApplicationContext context, EventEnvelope event) {
        inTransaction(context, () -> context.getBean(OutboxWriter.class).write(event));
    }

    /** Returns the listeners of the dispatcher that have a breaker. */
    public static Set<?> guarded(ApplicationContext context) {
        OutboxDispatcher dispatcher = context.getBean(OutboxInstance.class).dispatcher();
        Object admission = field(field(Objects.requireNonNull(dispatcher), "parts"), "admission");
        Object protection = field(admission, "protection");
        return ((Map<?, ?>) field(protection, "breakersByListener")).keySet();
    }

    /** Returns the value of a private field. */
    public static Object field(Object of, String name) {
        return Objects.requireNonNull(ReflectionTestUtils.getField(of, name), name);
    }
}
