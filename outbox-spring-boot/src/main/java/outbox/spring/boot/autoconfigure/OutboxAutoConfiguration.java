package outbox.spring.boot.autoconfigure;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.datasource.DataSourceUtils;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.ConditionalOnOutbox;
import outbox.spring.boot.internal.OutboxFactory;
import outbox.spring.boot.internal.OutboxLifecycle;
import outbox.spring.boot.internal.OutboxProperties;
import outbox.spring.boot.internal.OutboxRegistrar;

import javax.sql.DataSource;

/** Configures the outboxes of an application, with its data sources, transactions and listeners. */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
            "org.springframework.boot.autoconfigure.jdbc.DataSourceTransactionManagerAutoConfiguration",
            "org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration",
            "org.springframework.boot.autoconfigure.flyway.FlywayAutoConfiguration",
            "org.springframework.boot.autoconfigure.liquibase.LiquibaseAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
            "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
            "org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
            "org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration"
        })
@ConditionalOnOutbox
@ConditionalOnClass({DataSource.class, DataSourceUtils.class, EmbeddedDatabaseConnection.class})
@ConditionalOnBean(DataSource.class)
@EnableConfigurationProperties(OutboxProperties.class)
@Import(OutboxRegistrar.class)
public final class OutboxAutoConfiguration {

    @Bean(OutboxFactory.BEAN)
    static OutboxFactory outboxFactory(
            ListableBeanFactory beans, Environment environment, OutboxProperties properties) {
        return new OutboxFactory(beans, environment, properties);
    }

    @Bean
    @ConditionalOnMissingBean
    static OutboxLifecycle outboxLifecycle(OutboxFactory factory, ObjectProvider<OutboxInstance> outboxes) {
        return new OutboxLifecycle(factory, outboxes);
    }
}
