package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.ResourceTransactionManager;
import outbox.spring.SpringTxContext;
import outbox.spring.boot.diagnostics.OutboxStartException;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.sql.DataSource;

/** Finds the transaction manager of a data source among the beans of the application. */
public final class TransactionManagers {

    private static final Set<String> OF_BROKERS = Set.of(
            "org.springframework.amqp.rabbit.transaction.RabbitTransactionManager",
            "org.springframework.kafka.transaction.KafkaTransactionManager",
            "org.springframework.jms.connection.JmsTransactionManager");

    private final ListableBeanFactory beans;

    public TransactionManagers(ListableBeanFactory beans) {
        this.beans = beans;
    }

    /**
     * Returns the manager that the properties name, else the manager of the data source, else the only or primary
     * manager whose data source is unknown, such as a JPA or JTA manager.
     */
    public PlatformTransactionManager require(String outbox, EngineSettings settings, DataSource bean) {
        DataSource dataSource =
                bean instanceof TransactionAwareDataSourceProxy proxy && proxy.getTargetDataSource() != null
                        ? proxy.getTargetDataSource()
                        : bean; // a transaction manager has the target data source
        String asked = settings.properties().transactionManager();
        List<String> known = List.of(beans.getBeanNamesForType(PlatformTransactionManager.class));
        if (asked != null) {
            if (!known.contains(asked)) {
                throw settings.check()
                        .refuse(
                                "transaction-manager",
                                asked,
                                "the name of a transaction manager bean: " + String.join(", ", known));
            }
            return requireFits(outbox, beans.getBean(asked, PlatformTransactionManager.class), asked, dataSource);
        }
        List<PlatformTransactionManager> possible = new ArrayList<>();
        List<String> names = new ArrayList<>(); // the bean names of the possible managers
        for (String name : known) {
            PlatformTransactionManager manager = beans.getBean(name, PlatformTransactionManager.class);
            if (dataSourceOf(manager) == dataSource) {
                return manager;
            }
            if (dataSourceOf(manager) == null && !isOfBroker(manager)) {
                possible.add(manager);
                names.add(name);
            }
        }
        PlatformTransactionManager only =
                beans.getBeanProvider(PlatformTransactionManager.class).getIfUnique();
        if (only != null && possible.contains(only)) {
            return only;
        }
        if (possible.isEmpty()) {
            throw missing(
                    settings,
                    "There is no transaction manager for the DataSource of outbox " + outbox
                            + (known.isEmpty()
                                    ? ""
                                    : "; those there are, " + String.join(", ", known) + ", are for others"));
        }
        if (possible.size() > 1) {
            throw missing(
                    settings,
                    "It cannot be told which transaction manager is for the DataSource of outbox " + outbox + ": "
                            + String.join(", ", names) + " may be");
        }
        return possible.get(0);
    }

    private static OutboxStartException missing(EngineSettings settings, String message) {
        return new OutboxStartException(message, """
                Events are written in the transactions of the application. Declare a transaction manager for the DataSource:
                    @Bean JdbcTransactionManager transactions(DataSource dataSource) { return new JdbcTransactionManager(dataSource); }
                With several of them, name it: %s=<bean>
                If this process only delivers what others write: %s=relay""".formatted(
                settings.check().name("transaction-manager"), settings.check().name("role")));
    }

    /**
     * Lets the context observe the beginning of each transaction, if the manager of the outbox supports it. All
     * managers are observed, because JDBC and JPA may each have a manager for the same data source.
     */
    void tell(PlatformTransactionManager manager, SpringTxContext context) {
        if (manager instanceof ConfigurableTransactionManager) {
            beans.getBeansOfType(PlatformTransactionManager.class).values().stream()
                    .filter(ConfigurableTransactionManager.class::isInstance)
                    .forEach(known -> context.listenTo((ConfigurableTransactionManager) known));
        }
    }

    /** Compares class names, because the classes may be missing from the class path. */
    private static boolean isOfBroker(PlatformTransactionManager manager) {
        for (Class<?> type = manager.getClass(); type != null; type = type.getSuperclass()) {
            if (OF_BROKERS.contains(type.getName())) {
                return true;
            }
        }
        return false;
    }

    private static PlatformTransactionManager requireFits(
            String outbox, PlatformTransactionManager manager, String bean, DataSource dataSource) {
        DataSource its = dataSourceOf(manager);
        if (its != null && its != dataSource) {
            throw new IllegalStateException("Transaction manager " + bean + " of outbox " + outbox
                    + " is for another DataSource than that of the outbox, so no event could join its transactions");
        }
        return manager;
    }

    /** Returns the data source of the manager, or null if it is unknown. */
    private static @Nullable DataSource dataSourceOf(PlatformTransactionManager manager) {
        return manager instanceof ResourceTransactionManager resource
                        && resource.getResourceFactory() instanceof DataSource dataSource
                ? dataSource
                : null;
    }
}
