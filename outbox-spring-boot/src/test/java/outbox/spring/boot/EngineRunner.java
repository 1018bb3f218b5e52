package outbox.spring.boot;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.ClassUtils;
import outbox.EventListener;
import outbox.OutboxWriter;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;

import java.util.Objects;

/** Applications with a data source and an outbox, and helper methods of tests. */
final class EngineRunner {

    private EngineRunner() {}

    /** Creates an application on a database in memory, with a short poll interval. */
    static ApplicationContextRunner application() {
        return new ApplicationContextRunner()
                .withPropertyValues("spring.datasource.generate-unique-name=true", "outbox.poller.interval=50ms")
                .withConfiguration(AutoConfigurations.of(
                        DataSourceAutoConfiguration.class,
                        DataSourceTransactionManagerAutoConfiguration.class,
                        TransactionAutoConfiguration.class,
                        OutboxAutoConfiguration.class));
    }

    /** Returns all auto-configurations of this module. */
    static Class<?>[] ours() {
        ClassLoader classLoader = EngineRunner.class.getClassLoader();
        return ImportCandidates.load(AutoConfiguration.class, classLoader).getCandidates().stream()
                .filter(name -> name.startsWith("outbox."))
                .map(name -> ClassUtils.resolveClassName(name, classLoader))
                .toArray(Class<?>[]::new);
    }

    /** Returns the listener of all events of a type, in every outbox. */
    static ListenerSource on(String type, EventListener listener) {
        return (outbox, listeners) -> listeners.add(new OutboxListeners.Entry("*", type, listener, "the test"));
    }

    static String write(ApplicationContext context, String type, String payload) {
        OutboxWriter writer = context.getBean(OutboxWriter.class);
        return Objects.requireNonNull(transaction(context).execute(status -> writer.write(type, payload)));
    }

    static TransactionTemplate transaction(ApplicationContext context) {
        return new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
    }
}
