package outbox.spring.boot.autoconfigure;

import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDependsOnDatabaseInitializationDetector;
import outbox.spring.boot.OutboxInstance;

import java.util.Set;

/** Makes the outboxes depend on the database migrations of the application, with any migration tool. */
final class OutboxDatabaseInitialization extends AbstractBeansOfTypeDependsOnDatabaseInitializationDetector {

    @Override
    protected Set<Class<?>> getDependsOnDatabaseInitializationBeanTypes() {
        return Set.of(OutboxInstance.class);
    }
}
