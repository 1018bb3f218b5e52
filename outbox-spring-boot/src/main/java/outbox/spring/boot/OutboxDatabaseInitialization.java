package outbox.spring.boot;

import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDependsOnDatabaseInitializationDetector;

import java.util.Set;

/** Outboxes come after the migrations of the application, whatever runs them. */
final class OutboxDatabaseInitialization extends AbstractBeansOfTypeDependsOnDatabaseInitializationDetector {

    @Override
    protected Set<Class<?>> getDependsOnDatabaseInitializationBeanTypes() {
        return Set.of(OutboxInstance.class);
    }
}
