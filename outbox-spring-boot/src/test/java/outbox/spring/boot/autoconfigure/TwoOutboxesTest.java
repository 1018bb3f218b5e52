package outbox.spring.boot.autoconfigure;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.OutboxWriter;
import outbox.TransactionStateException;
import outbox.spring.ListenerSource;
import outbox.spring.Outbox;
import outbox.spring.boot.EngineRunner;
import outbox.spring.boot.diagnostics.OutboxStartException;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Two data sources, each with an outbox. */
class TwoOutboxesTest {

    private static final List<String> DELIVERED = new CopyOnWriteArrayList<>();

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(OutboxAutoConfiguration.class))
            .withUserConfiguration(TwoDatabases.class)
            .withPropertyValues(
                    "outbox.named.orders.data-source=ordersDb",
                    "outbox.named.orders.transaction-manager=ordersTx",
                    "outbox.named.orders.poller.interval=50ms",
                    "outbox.named.billing.data-source=billingDb",
                    "outbox.named.billing.table=bill_outbox",
                    "outbox.named.billing.poller.interval=50ms");

    @Test
    void each_event_is_in_its_own_database_and_delivered_from_there() {
        DELIVERED.clear();
        runner.run(context -> {
            Service service = context.getBean(Service.class);

            service.inOrders().executeWithoutResult(status -> service.orders().write("order.created", "1"));
            service.inBilling().executeWithoutResult(status -> service.billing().write("bill.sent", "2"));

            await().untilAsserted(() -> assertThat(DELIVERED).containsExactlyInAnyOrder("orders:1", "billing:2"));
            assertThat(rows(context.getBean("ordersDb", DataSource.class), "outbox_event"))
                    .isOne();
            assertThat(rows(context.getBean("billingDb", DataSource.class), "bill_outbox"))
                    .isOne();
            assertThat(context)
                    .hasBean("ordersOutboxAdmin")
                    .hasBean("billingOutbox")
                    .doesNotHaveBean("outbox");
        });
    }

    @Test
    void a_write_in_the_transaction_of_the_other_database_is_refused() {
        runner.run(context -> {
            Service service = context.getBean(Service.class);

            assertThatThrownBy(() -> service.inBilling()
                            .executeWithoutResult(status -> service.orders().write("order.created", "3")))
                    .isInstanceOf(TransactionStateException.class);
            assertThat(rows(context.getBean("ordersDb", DataSource.class), "outbox_event"))
                    .isZero();
        });
    }

    @Test
    void a_data_source_that_is_not_there_is_named() {
        runner.withPropertyValues("outbox.named.orders.data-source=ordersDatabase")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("outbox.named.orders.data-source is 'ordersDatabase'")
                        .hasMessageContaining("ordersDb"));
    }

    @Test
    void a_transaction_manager_of_the_other_data_source_is_refused() {
        runner.withPropertyValues("outbox.named.orders.transaction-manager=billingTx")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("billingTx")
                        .hasMessageContaining("another DataSource"));
    }

    @Test
    void two_outboxes_in_one_table_are_refused() {
        runner.withPropertyValues(
                        "outbox.named.orders.data-source=proxyDb",
                        "outbox.named.orders.table=OUTBOX_EVENT",
                        "outbox.named.billing.data-source=billingDb",
                        "outbox.named.billing.table=outbox_event")
                .withUserConfiguration(Proxy.class)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .isInstanceOf(OutboxStartException.class)
                        .hasMessageContainingAll("outbox.named.", ".table is", "than that of outbox"));
    }

    @Test
    void settings_that_would_be_for_no_outbox_are_refused() {
        runner.withPropertyValues("outbox.role=relay", "outbox.poller.interval=1s")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("outbox.role and outbox.poller"));
    }

    @Test
    void an_outbox_that_is_turned_off_has_no_beans() {
        runner.withPropertyValues("outbox.named.third.enabled=false", "outbox.named.third.data-source=ordersDb")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean("thirdOutbox")
                        .doesNotHaveBean("thirdOutboxWriter"));
    }

    @Test
    void a_named_outbox_may_have_the_name_of_the_only_one() {
        runner.withPropertyValues(
                        "outbox.named.default.role=relay",
                        "outbox.named.default.data-source=ordersDb",
                        "outbox.named.default.table=other_outbox")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasBean("outboxAdmin")
                        .doesNotHaveBean("outboxWriter"));
    }

    private static long rows(DataSource dataSource, String table) {
        return new JdbcTemplate(dataSource)
                .queryForList("SELECT event_id FROM " + table)
                .size();
    }

    record Service(
            OutboxWriter orders, OutboxWriter billing, TransactionTemplate inOrders, TransactionTemplate inBilling) {}

    @Configuration(proxyBeanMethods = false)
    static class Proxy {

        @Bean
        DataSource proxyDb(@Qualifier("billingDb") DataSource dataSource) {
            return new TransactionAwareDataSourceProxy(dataSource);
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class TwoDatabases {

        private static int number;

        @Bean
        DataSource ordersDb() {
            return memory("orders");
        }

        @Bean
        DataSource billingDb() {
            return memory("billing");
        }

        private static DataSource memory(String name) {
            return new DriverManagerDataSource("jdbc:h2:mem:two-" + name + ++number + ";DB_CLOSE_DELAY=-1");
        }

        @Bean
        JdbcTransactionManager ordersTx(@Qualifier("ordersDb") DataSource dataSource) {
            return new JdbcTransactionManager(dataSource);
        }

        @Bean
        JdbcTransactionManager billingTx(@Qualifier("billingDb") DataSource dataSource) {
            return new JdbcTransactionManager(dataSource);
        }

        @Bean
        ListenerSource listeners() {
            return (outbox, listeners) -> EngineRunner.on(
                            "*", event -> DELIVERED.add(outbox + ":" + event.payloadJson()))
                    .addTo(outbox, listeners);
        }

        @Bean
        Service service(
                @Outbox("orders") OutboxWriter orders,
                @Outbox("billing") OutboxWriter billing,
                @Qualifier("ordersTx") PlatformTransactionManager ordersTx,
                @Qualifier("billingTx") PlatformTransactionManager billingTx) {
            return new Service(orders, billing, new TransactionTemplate(ordersTx), new TransactionTemplate(billingTx));
        }
    }
}
