package outbox.benchmarks;

import io.namastack.outbox.Outbox;
import io.namastack.outbox.OutboxJacksonAutoConfiguration;
import io.namastack.outbox.OutboxProcessingScheduler;
import io.namastack.outbox.config.JdbcOutboxAutoConfiguration;
import io.namastack.outbox.config.OutboxCoreInfrastructureAutoConfiguration;
import io.namastack.outbox.config.OutboxCoreProcessingAutoConfiguration;
import io.namastack.outbox.config.OutboxCoreSchedulingAutoConfiguration;
import io.namastack.outbox.config.OutboxCoreThreadingAutoConfiguration;
import io.namastack.outbox.handler.OutboxRecordMetadata;
import io.namastack.outbox.handler.OutboxTypedHandler;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.autoconfigure.task.TaskSchedulingAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import tools.jackson.databind.json.JsonMapper;

import java.util.Map;
import javax.sql.DataSource;

/** namastack-outbox, with the settings of its own performance test and a shorter poll interval. */
final class Namastack implements Contender {

    @Override
    public String name() {
        return "namastack";
    }

    @Override
    public String description() {
        return "namastack-outbox: batch 1,200, poll every 100 ms, 16 to 32 threads, done records deleted";
    }

    @Override
    public boolean isPeer() {
        return true;
    }

    @Override
    public void createSchema(Product product, DataSource dataSource) {
        String directory = product == Product.POSTGRESQL ? "postgres" : "mariadb";
        new ResourceDatabasePopulator(new ClassPathResource("schema/%s/outbox-tables.sql".formatted(directory)))
                .execute(dataSource);
    }

    @Override
    public String pendingSql() {
        return "SELECT count(*) FROM outbox_record WHERE status <> 'COMPLETED'";
    }

    @Override
    public Node node(NodeSetup setup) {
        return new NamastackNode(setup);
    }

    private static final class NamastackNode extends SpringNode {
        private final Outbox outbox;
        private final boolean ordered;

        NamastackNode(NodeSetup setup) {
            super(setup, Wiring.class, properties(setup), "outboxProcessingScheduler");
            outbox = context.getBean(Outbox.class);
            ordered = setup.ordered();
        }

        private static Map<String, Object> properties(NodeSetup setup) {
            return Map.of(
                    "namastack.outbox.polling.trigger",
                    "fixed",
                    "namastack.outbox.polling.fixed.interval",
                    "100ms",
                    "namastack.outbox.polling.batch-size",
                    1200,
                    "namastack.outbox.processing.executor-core-pool-size",
                    setup.workers().orElse(16),
                    "namastack.outbox.processing.executor-max-pool-size",
                    setup.workers().orElse(32),
                    "namastack.outbox.processing.delete-completed-records",
                    true,
                    "namastack.outbox.processing.shutdown-timeout",
                    "5s");
        }

        @Override
        public void start() {
            context.getBean(OutboxProcessingScheduler.class).start();
        }

        @Override
        void publish(Event event) {
            if (ordered) {
                outbox.schedule(event.payload(), event.aggregateId());
            } else {
                outbox.schedule(event.payload());
            }
        }
    }

    /** The part of its auto-configuration that delivers, without the part for Spring events. */
    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        TaskExecutionAutoConfiguration.class,
        TaskSchedulingAutoConfiguration.class,
        OutboxCoreInfrastructureAutoConfiguration.class,
        OutboxCoreThreadingAutoConfiguration.class,
        OutboxCoreProcessingAutoConfiguration.class,
        OutboxCoreSchedulingAutoConfiguration.class,
        JdbcOutboxAutoConfiguration.class,
        OutboxJacksonAutoConfiguration.class
    })
    static class Wiring {

        @Bean
        JsonMapper jsonMapper() {
            return JsonMapper.builder().build();
        }

        @Bean
        Listener listener(Ledger ledger) {
            return new Listener(ledger);
        }
    }

    /** Public, because the peer uses reflection. */
    public static final class Listener implements OutboxTypedHandler<String> {
        private final Ledger ledger;

        Listener(Ledger ledger) {
            this.ledger = ledger;
        }

        @Override
        public void handle(String payload, OutboxRecordMetadata metadata) {
            ledger.deliver(payload);
        }
    }
}
