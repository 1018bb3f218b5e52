package outbox.spring.boot.diagnostics;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.transaction.RabbitTransactionManager;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.SimpleTransactionStatus;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.OutboxSchema;
import outbox.spring.ListenerSource;
import outbox.spring.boot.EngineRunner;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;

import java.util.Objects;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;

/** The messages that a user reads if the application does not start. */
class FailureAnalysisTest {

    private final ApplicationContextRunner runner = EngineRunner.application();

    @Test
    void two_data_sources_and_no_name() {
        FailureAnalysis analysis = analysis(runner.withBean("one", DataSource.class, () -> memory("one"))
                .withBean("two", DataSource.class, () -> memory("two")));

        assertThat(analysis.getDescription()).contains("one, two");
        assertThat(analysis.getAction()).contains("outbox.data-source=one").contains("@Primary");
    }

    @Test
    void no_table() {
        FailureAnalysis analysis = analysis(
                runner.withPropertyValues("outbox.jdbc.initialize-schema=never", "outbox.capabilities=order,pauses"));

        assertThat(analysis.getDescription()).contains("table outbox_event");
        assertThat(analysis.getAction())
                .contains(
                        "classpath:db/migration,classpath:META-INF/outbox/flyway/{vendor},classpath:META-INF/outbox/flyway-order/{vendor}")
                .contains("META-INF/outbox/liquibase/outbox.xml")
                .contains("outbox schema print --store h2 --table outbox_event --with ORDER,PAUSES")
                .contains("outbox.jdbc.initialize-schema=always");
    }

    @Test
    void no_table_of_the_leader() {
        DataSource dataSource = memory("leader");
        OutboxSchema.create(dataSource, JdbcEventStores.detect(dataSource));

        FailureAnalysis analysis = analysis(runner.withBean(DataSource.class, () -> dataSource)
                .withPropertyValues(
                        "outbox.jdbc.initialize-schema=never",
                        "outbox.single-active.enabled=true",
                        "outbox.poller.interval=1s"));

        assertThat(analysis.getDescription()).contains("Missing: table outbox_leader");
        assertThat(analysis.getAction())
                .contains("META-INF/outbox/flyway-leader/{vendor}")
                .contains("META-INF/outbox/liquibase/outbox-leader.xml");
    }

    @Test
    void several_transaction_managers_that_may_be_the_one() {
        ApplicationContextRunner several = runner.withBean("first", Unknown.class)
                .withBean(
                        "rabbit",
                        RabbitTransactionManager.class,
                        () -> new RabbitTransactionManager(new CachingConnectionFactory()));
        several.run(context -> assertThat(context).hasNotFailed());

        FailureAnalysis analysis = analysis(several.withBean("second", Unknown.class));

        assertThat(analysis.getDescription())
                .contains("It cannot be told which")
                .contains("first, second may be");
        assertThat(analysis.getAction()).contains("outbox.transaction-manager=<bean>");
        several.withBean("second", Unknown.class)
                .withPropertyValues("outbox.transaction-manager=second")
                .run(context -> assertThat(context).hasNotFailed());
    }

    /** A manager whose data source is unknown, like a JPA or JTA manager. */
    static final class Unknown implements PlatformTransactionManager {

        @Override
        public TransactionStatus getTransaction(@Nullable TransactionDefinition definition) {
            return new SimpleTransactionStatus();
        }

        @Override
        public void commit(TransactionStatus status) {}

        @Override
        public void rollback(TransactionStatus status) {}
    }

    @Test
    void no_transaction_manager() {
        FailureAnalysis analysis = analysis(new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(OutboxAutoConfiguration.class))
                .withBean(DataSource.class, () -> memory("none")));

        assertThat(analysis.getDescription()).contains("no transaction manager for the DataSource of outbox default");
        assertThat(analysis.getAction()).contains("JdbcTransactionManager").contains("outbox.role=relay");
    }

    @Test
    void a_wrong_value() {
        FailureAnalysis analysis = analysis(runner.withPropertyValues("outbox.dispatcher.keep-attempts=1001"));

        assertThat(analysis.getDescription())
                .isEqualTo("Property outbox.dispatcher.keep-attempts is '1001', but must be between 0 and 1000.");
    }

    @Test
    void two_listeners_for_one_event() {
        ListenerSource twice = (outbox, listeners) -> {
            EngineRunner.on("order.created", event -> {}).addTo(outbox, listeners);
            EngineRunner.on("order.created", event -> {}).addTo(outbox, listeners);
        };

        FailureAnalysis analysis = analysis(runner.withBean(ListenerSource.class, () -> twice));

        assertThat(analysis.getDescription()).contains("order.created");
        assertThat(analysis.getAction()).contains("Keep one");
    }

    private static DataSource memory(String name) {
        return new DriverManagerDataSource("jdbc:h2:mem:failure-" + name + ";DB_CLOSE_DELAY=-1");
    }

    private static FailureAnalysis analysis(ApplicationContextRunner failing) {
        FailureAnalysis[] found = new FailureAnalysis[1];
        failing.run(context -> {
            Throwable failure = Objects.requireNonNull(context.getStartupFailure());
            SpringFactoriesLoader.forDefaultResourceLocation()
                    .load(FailureAnalyzer.class, SpringFactoriesLoader.FailureHandler.handleMessage((type, e) -> {}))
                    .stream()
                    .filter(analyzer -> analyzer.getClass().getName().startsWith("outbox."))
                    .map(analyzer -> analyzer.analyze(failure))
                    .filter(Objects::nonNull)
                    .findFirst()
                    .ifPresent(analysis -> found[0] = analysis);
            assertThat(found[0]).as("an analysis of " + failure).isNotNull();
        });
        return Objects.requireNonNull(found[0]);
    }
}
