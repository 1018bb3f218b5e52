package outbox.benchmarks;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.modulith.events.ApplicationModuleListener;
import org.springframework.modulith.events.IncompleteEventPublications;
import org.springframework.scheduling.annotation.AsyncConfigurer;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import tools.jackson.databind.json.JsonMapper;

import java.util.Map;
import java.util.concurrent.Executor;
import javax.sql.DataSource;

/** The JDBC registry of Spring Modulith. */
final class Modulith implements Contender {
    private static final int THREADS = 10;
    private static final String PENDING = "SELECT count(*) FROM EVENT_PUBLICATION WHERE completion_date IS NULL";

    @Override
    public String name() {
        return "modulith";
    }

    @Override
    public String description() {
        return "Spring Modulith's JDBC event publication registry: %d threads, a backlog by resubmission"
                .formatted(THREADS);
    }

    @Override
    public boolean isPeer() {
        return true;
    }

    @Override
    public void createSchema(Product product, DataSource dataSource) {
        new ResourceDatabasePopulator(new ClassPathResource(
                        "org/springframework/modulith/events/jdbc/schemas/v2/schema-%s.sql".formatted(product.id())))
                .execute(dataSource);
    }

    @Override
    public String pendingSql() {
        return PENDING;
    }

    @Override
    public Node node(NodeSetup setup) {
        return new ModulithNode(setup);
    }

    private static final class ModulithNode extends SpringNode {

        ModulithNode(NodeSetup setup) {
            super(setup, Wiring.class, properties(setup), "");
        }

        private static Map<String, Object> properties(NodeSetup setup) {
            return Map.of(
                    "benchmark.threads",
                    setup.workers().orElse(THREADS),
                    "namastack.outbox.enabled",
                    false); // disables the other peer on the class path
        }

        @Override
        void publish(Event event) {
            context.publishEvent(new OrderPlaced(event.payload()));
        }

        @Override
        public void start() {
            context.getBean(GatedExecutor.class).open();
            if (backlogIsEmpty()) {
                return; // otherwise the resubmission would find events that are being delivered
            }
            IncompleteEventPublications backlog = context.getBean(IncompleteEventPublications.class);
            new Thread(() -> backlog.resubmitIncompletePublications(publication -> true), "resubmission").start();
        }

        private boolean backlogIsEmpty() {
            Integer pending = context.getBean(JdbcTemplate.class).queryForObject(PENDING, Integer.class);
            return pending == null || pending == 0;
        }
    }

    /** The published event. */
    public record OrderPlaced(String payload) {}

    @Configuration(proxyBeanMethods = false)
    @EnableAsync
    @EnableTransactionManagement
    @EnableAutoConfiguration
    static class Wiring {

        @Bean
        static GatedExecutor gatedExecutor(Environment environment) {
            return new GatedExecutor(environment.getRequiredProperty("benchmark.threads", Integer.class));
        }

        @Bean
        static AsyncConfigurer asyncConfigurer(GatedExecutor executor) {
            return new AsyncConfigurer() {
                @Override
                public Executor getAsyncExecutor() {
                    return executor;
                }
            };
        }

        @Bean
        JsonMapper jsonMapper() {
            return JsonMapper.builder().build();
        }

        @Bean
        Listener listener(Ledger ledger) {
            return new Listener(ledger);
        }
    }

    /** Public and not final, because Spring creates a proxy of it. */
    public static class Listener {
        private final Ledger ledger;

        Listener(Ledger ledger) {
            this.ledger = ledger;
        }

        @ApplicationModuleListener
        public void on(OrderPlaced event) {
            ledger.deliver(event.payload());
        }
    }
}
