package outbox.boot.orders;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseBuilder;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseType;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.spring.ListenerSource;
import outbox.spring.Outbox;
import outbox.spring.OutboxListeners.Entry;
import outbox.spring.boot.test.OutboxTest;
import outbox.testing.TestClock;
import outbox.testing.TestOutbox;

import java.time.Duration;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.testing.OutboxAssertions.assertThat;

/**
 * Each outbox has its own test outbox, with the clock of the test. There is no other auto-configuration, as
 * in a slice.
 */
@Timeout(60)
@SpringBootTest(
        classes = TwoOutboxesTest.Parts.class,
        properties = {"outbox.named.orders.data-source=ordersDb", "outbox.named.stock.data-source=stockDb"})
@OutboxTest
class TwoOutboxesTest {

    static class Parts {

        @Bean
        DataSource ordersDb() {
            return database();
        }

        @Bean
        DataSource stockDb() {
            return database();
        }

        private static DataSource database() {
            return new EmbeddedDatabaseBuilder()
                    .generateUniqueName(true)
                    .setType(EmbeddedDatabaseType.H2)
                    .build();
        }

        @Bean
        PlatformTransactionManager ordersTransactions(DataSource ordersDb) {
            return new DataSourceTransactionManager(ordersDb);
        }

        @Bean
        PlatformTransactionManager stockTransactions(DataSource stockDb) {
            return new DataSourceTransactionManager(stockDb);
        }

        @Bean
        TestClock clock() {
            return new TestClock();
        }

        @Bean
        ListenerSource listeners() {
            return (outbox, listeners) -> listeners.add(new Entry("*", "*", event -> {}, "Parts"));
        }
    }

    @Autowired
    @Outbox("orders")
    TestOutbox orders;

    @Autowired
    @Outbox("stock")
    TestOutbox stock;

    @Autowired
    PlatformTransactionManager ordersTransactions;

    @Autowired
    TestClock clock;

    @Test
    void each_outbox_has_its_own_events_and_all_have_the_clock_of_the_test() {
        new TransactionTemplate(ordersTransactions)
                .executeWithoutResult(tx -> orders.writer().write("order.created.v1", "{}"));
        clock.advance(Duration.ofHours(1));

        assertThat(orders).wrote("order.created.v1");
        assertThat(stock).wroteNothing();
        assertThat(stock.deliver().events()).isEmpty();
        assertThat(orders.deliver().delivered()).hasSize(1);
        assertThat(orders.clock().ahead()).isEqualTo(Duration.ofHours(1));
        assertThat(stock.clock()).isSameAs(clock);
    }
}
