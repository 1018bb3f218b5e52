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
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;

import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Applications with a data source and an outbox, and helper methods of tests. */
public final class EngineRunner {

    private EngineRunner() {}

    /** Creates an application on a database in memory, with a short poll interval. */
    public static ApplicationContextRunner application() {
        return new ApplicationContextRunner()
                .withPropertyValues("spring.datasource.generate-unique-name=true", "outbox.poller.interval=50ms")
                .withConfiguration(AutoConfigurations.of(
                        DataSourceAutoConfiguration.class,
                        DataSourceTransactionManagerAutoConfiguration.class,
                        TransactionAutoConfiguration.class,
                        OutboxAutoConfiguration.class));
    }

    /** Returns all auto-configurations of this module, or those in the sub-packages with these names. */
    public static Class<?>[] ours(String... names) {
        ClassLoader classLoader = EngineRunner.class.getClassLoader();
        Stream<String> packages =
                names.length == 0 ? Stream.of("outbox.") : Stream.of(names).map("outbox.spring.boot."::concat);
        List<String> prefixes = packages.toList();
        return ImportCandidates.load(AutoConfiguration.class, classLoader).getCandidates().stream()
                .filter(name -> prefixes.stream().anyMatch(name::startsWith))
                .map(name -> ClassUtils.resolveClassName(name, classLoader))
                .toArray(Class<?>[]::new);
    }

    /** Returns the listener of all events of a type, in every outbox. */
    public static ListenerSource on(String type, EventListener listener) {
        return (outbox, listeners) -> listeners.add(new OutboxListeners.Entry("*", type, listener, "the test"));
    }

    public static String write(ApplicationContext context, String type, String payload) {
        OutboxWriter writer = context.getBean(OutboxWriter.class);
        return Objects.requireNonNull(transaction(context).execute(status -> writer.write(type, payload)));
    }

    public static TransactionTemplate transaction(ApplicationContext context) {
        return new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
    }
}
