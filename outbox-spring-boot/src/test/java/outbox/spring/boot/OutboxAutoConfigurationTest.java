package outbox.spring.boot;

import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;

import static org.assertj.core.api.Assertions.assertThat;

class OutboxAutoConfigurationTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    DataSourceAutoConfiguration.class,
                    DataSourceTransactionManagerAutoConfiguration.class,
                    TransactionAutoConfiguration.class,
                    OutboxAutoConfiguration.class));

    @Test
    void an_application_with_a_data_source_has_an_outbox() {
        runner.run(context -> {
            assertThat(context).hasSingleBean(OutboxInstance.class).hasSingleBean(OutboxAdmin.class);
            OutboxWriter writer = context.getBean(OutboxWriter.class);

            new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                    .executeWithoutResult(status -> writer.write("order.created", "{}"));

            assertThat(context.getBean(OutboxAdmin.class).statistics().byType()).isNotEmpty();
        });
    }

    @Test
    void a_switched_off_outbox_leaves_no_bean() {
        runner.withPropertyValues("outbox.enabled=false")
                .run(context -> assertThat(context.getBeanDefinitionNames())
                        .noneMatch(bean -> String.valueOf(context.getType(bean)).contains("outbox.")));
    }
}
