package outbox.spring.boot.reconcile;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import outbox.reconcile.ReconcileJob;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.spring.boot.internal.ConditionalOnOutbox;
import outbox.spring.boot.internal.OutboxFactory;

/** Runs the reconcile jobs that are beans of the application. */
@AutoConfiguration(after = OutboxAutoConfiguration.class)
@ConditionalOnOutbox
@ConditionalOnBean({ReconcileJob.class, OutboxInstance.class})
@ConditionalOnBooleanProperty(name = OutboxReconcileProperties.PREFIX + ".enabled", matchIfMissing = true)
@EnableConfigurationProperties(OutboxReconcileProperties.class)
class OutboxReconcileAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    Reconcilers outboxReconcilers(
            ListableBeanFactory beans,
            OutboxReconcileProperties settings,
            ObjectProvider<OutboxInstance> outboxes,
            OutboxFactory factory) {
        return new Reconcilers(beans, settings, outboxes, factory);
    }
}
