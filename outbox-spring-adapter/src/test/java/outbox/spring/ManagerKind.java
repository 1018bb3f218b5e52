package outbox.spring;

import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

import java.util.Map;
import java.util.Objects;
import javax.sql.DataSource;
import jakarta.persistence.EntityManagerFactory;

/** Kinds of transaction managers for a data source. */
enum ManagerKind {
    JDBC,
    JPA,
    /** Binds nothing to the thread, like a JTA manager. */
    UNBOUND;

    AbstractPlatformTransactionManager manager(DataSource dataSource) {
        return switch (this) {
            case JDBC -> new DataSourceTransactionManager(dataSource);
            case JPA -> {
                JpaTransactionManager manager = new JpaTransactionManager(entityManagers(dataSource));
                manager.setDataSource(dataSource);
                yield manager;
            }
            case UNBOUND -> new UnboundManager();
        };
    }

    static EntityManagerFactory entityManagers(DataSource dataSource) {
        LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
        factory.setDataSource(dataSource);
        factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
        factory.setManagedTypes(PersistenceManagedTypes.of(Account.class.getName()));
        factory.setJpaPropertyMap(Map.of("hibernate.hbm2ddl.auto", "update"));
        factory.afterPropertiesSet();
        return Objects.requireNonNull(factory.getObject());
    }

    private static final class UnboundManager extends AbstractPlatformTransactionManager {

        private static final long serialVersionUID = 1L;

        @Override
        protected Object doGetTransaction() {
            return new Object();
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {}

        @Override
        protected void doCommit(DefaultTransactionStatus status) {}

        @Override
        protected void doRollback(DefaultTransactionStatus status) {}
    }
}
