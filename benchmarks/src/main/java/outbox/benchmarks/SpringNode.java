package outbox.benchmarks;

import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.support.DefaultLifecycleProcessor;
import org.springframework.core.env.MapPropertySource;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import java.util.List;
import java.util.Map;
import javax.sql.DataSource;

/** A node of a peer that runs in a Spring context. */
abstract class SpringNode implements Contender.Node {
    final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

    private final SpringTransactions transactions;

    /**
     * The context gets the data source, its transactions and the ledger as beans. It does not start the bean named
     * {@code delivery}.
     */
    SpringNode(NodeSetup setup, Class<?> configuration, Map<String, Object> properties, String delivery) {
        context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("benchmark", properties));
        context.getBeanFactory().registerSingleton("dataSource", setup.dataSource()); // not closed with the context
        context.registerBean(Ledger.class, setup::ledger);
        context.registerBean(
                "transactionManager",
                PlatformTransactionManager.class,
                () -> new DataSourceTransactionManager(context.getBean(DataSource.class)));
        context.registerBean("lifecycleProcessor", PatientLifecycle.class, () -> new PatientLifecycle(delivery));
        context.register(configuration);
        context.refresh();
        transactions = new SpringTransactions(setup.dataSource(), context.getBean(PlatformTransactionManager.class));
    }

    /** Writes the event in the transaction of the thread. */
    abstract void publish(Event event);

    @Override
    public final void write(Event event) {
        transactions.write(event, this::publish);
    }

    @Override
    public final void writeBacklog(List<Event> events) {
        transactions.writeBacklog(events, this::publish);
    }

    @Override
    public void close() {
        context.close();
    }

    /** Starts all beans except the one that delivers. */
    private static final class PatientLifecycle extends DefaultLifecycleProcessor {
        private final String delivery;

        PatientLifecycle(String delivery) {
            this.delivery = delivery;
        }

        @Override
        protected Map<String, Lifecycle> getLifecycleBeans() {
            Map<String, Lifecycle> beans = super.getLifecycleBeans();
            Lifecycle bean = beans.get(delivery);
            if (bean != null && !bean.isRunning()) {
                beans.remove(delivery);
            }
            return beans;
        }
    }
}
