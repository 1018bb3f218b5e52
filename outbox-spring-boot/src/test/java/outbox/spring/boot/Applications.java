package outbox.spring.boot;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.EventListener;
import outbox.OutboxWriter;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;

import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/** Small applications on H2, each with its own database. */
public final class Applications {

    private static final AtomicInteger COUNT = new AtomicInteger();

    private Applications() {}

    public static ApplicationContextRunner with(Class<?>... more) {
        return bare(more).withPropertyValues("outbox.poller.interval=50ms", "outbox.capabilities=pauses");
    }

    /** Creates an application without settings, for named outboxes. */
    public static ApplicationContextRunner bare(Class<?>... more) {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        DataSourceAutoConfiguration.class,
                        DataSourceTransactionManagerAutoConfiguration.class,
                        TransactionAutoConfiguration.class,
                        OutboxAutoConfiguration.class))
                .withConfiguration(AutoConfigurations.of(more))
                .withPropertyValues("spring.datasource.url=jdbc:h2:mem:see" + COUNT.incrementAndGet());
    }

    /** Returns a source of one listener for all events. */
    public static ListenerSource listening(EventListener listener) {
        return (outbox, listeners) -> listeners.add(new OutboxListeners.Entry("*", "*", listener, "the test"));
    }

    public static String write(ApplicationContext context, String eventType) {
        OutboxWriter writer = context.getBean(OutboxWriter.class);
        String id = new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                .execute(status -> writer.write(eventType, "{\"secret\":1}"));
        return String.valueOf(id);
    }

    public static JdbcTemplate jdbc(ApplicationContext context) {
        return new JdbcTemplate(context.getBean(DataSource.class));
    }
}
