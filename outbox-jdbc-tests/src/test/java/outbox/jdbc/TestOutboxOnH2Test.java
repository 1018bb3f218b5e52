package outbox.jdbc;

import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.RetryPolicy;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.registry.DefaultListenerRegistry;
import outbox.testing.DeliveryReport;
import outbox.testing.TestOutbox;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.testing.OutboxAssertions.assertThat;

/** An outbox under test on a database, as the guide shows it. */
@Timeout(60)
class TestOutboxOnH2Test {

    // region plain
    static final JdbcConnectionPool POOL =
            JdbcConnectionPool.create("jdbc:h2:mem:test-outbox;DB_CLOSE_DELAY=-1", "", "");
    static final AbstractJdbcEventStore STORE = JdbcEventStores.detect(POOL);
    static final DataSourceConnectionProvider CONNECTIONS = new DataSourceConnectionProvider(POOL);
    static final ThreadLocalTxContext TX_CONTEXT = new ThreadLocalTxContext();

    static {
        OutboxSchema.create(POOL, STORE, Capability.DEADLINES);
    }

    final List<String> mails = Collections.synchronizedList(new ArrayList<>());
    final DefaultListenerRegistry listeners = new DefaultListenerRegistry()
            .register("order", "order.created.v1", event -> mails.add(event.aggregateId()));

    @RegisterExtension // empty before each test
    final TestOutbox outbox = TestOutbox.builder(STORE, CONNECTIONS, TX_CONTEXT)
            .listeners(listeners)
            .dispatcher(settings -> settings.maxAttempts(3).retryPolicy(RetryPolicy.fixed(Duration.ofHours(1))))
            .build();

    final Orders orders = new Orders(outbox.writer(), new JdbcTransactionManager(CONNECTIONS, TX_CONTEXT));

    @Test
    void an_order_is_told_about() {
        orders.create("42");

        assertThat(outbox)
                .wrote("order.created.v1")
                .forAggregate("order", "42")
                .withPayload("{\"id\":\"42\"}")
                .times(1);

        outbox.deliver(); // what is due, and only now

        assertThat(mails).containsExactly("42");
        assertThat(outbox).delivered("order.created.v1").to("order:order.created.v1");
    }
    // endregion

    // region clock
    @Test
    void an_order_whose_mail_fails_is_tried_again_each_hour() {
        listeners.register("order", "order.cancelled.v1", event -> {
            throw new IllegalStateException("the mail server is down");
        });
        orders.cancel("42");

        outbox.deliver();
        assertThat(outbox).pending("order.cancelled.v1").withAttempts(1);

        outbox.clock().advance(Duration.ofHours(1));
        outbox.deliver();
        assertThat(outbox).pending("order.cancelled.v1").withAttempts(2);

        outbox.deliverUntilQuiet(); // moves the clock to each retry
        assertThat(outbox).dead("order.cancelled.v1").withError("the mail server is down");
    }
    // endregion

    /** The code under test. */
    record Orders(OutboxWriter writer, JdbcTransactionManager transactions) {

        void create(String id) {
            write("order.created.v1", id);
        }

        void cancel(String id) {
            write("order.cancelled.v1", id);
        }

        private void write(String type, String id) {
            try (Transaction tx = transactions.begin()) {
                writer.write(EventEnvelope.builder(type)
                        .aggregateType("order")
                        .aggregateId(id)
                        .payloadJson("{\"id\":\"" + id + "\"}")
                        .build());
                tx.commit();
            }
        }
    }

    @Test
    void due_times_and_deadlines_go_by_the_clock_of_the_test() {
        outbox.clock().advance(Duration.ofDays(2));
        try (Transaction tx = orders.transactions().begin()) {
            for (int hours = 1; hours <= 2; hours++) {
                outbox.writer()
                        .write(EventEnvelope.builder("order.created.v1")
                                .aggregateType("order")
                                .aggregateId("after " + hours)
                                .deliverAfter(Duration.ofHours(hours))
                                .expireAfter(Duration.ofMinutes(90))
                                .payloadJson("{}")
                                .build());
            }
            outbox.writer()
                    .write(EventEnvelope.builder("order.created.v1")
                            .aggregateType("order")
                            .aggregateId("at")
                            .availableAt(outbox.clock().instant().plus(Duration.ofHours(3)))
                            .payloadJson("{}")
                            .build());
            tx.commit();
        }

        assertThat(outbox.deliver().events()).isEmpty();
        outbox.clock().advance(Duration.ofMinutes(61));
        assertThat(outbox.deliver().delivered()).hasSize(1);
        outbox.clock().advance(Duration.ofMinutes(31));
        DeliveryReport late = outbox.deliver();
        outbox.clock().advance(Duration.ofMinutes(90));
        outbox.deliver();

        assertThat(late.dead()).hasSize(1);
        assertThat(mails).containsExactly("after 1", "at");
        assertThat(outbox).dead("order.created.v1").forAggregate("order", "after 2");
    }

    @Test
    void events_of_an_open_transaction_are_seen_and_a_rollback_takes_them_back() {
        try (Transaction tx = orders.transactions().begin()) {
            outbox.writer().write("order.created.v1", "{}");

            assertThat(outbox).wrote("order.created.v1");
            assertThatThrownBy(outbox::deliver).hasMessageContaining("A transaction is active on this thread");
            tx.rollback();
        }

        assertThat(outbox).wroteNothing();
    }

    @Test
    void many_events_are_delivered_in_their_order_and_cleared() {
        try (Transaction tx = orders.transactions().begin()) {
            for (int i = 0; i < 1_100; i++) {
                outbox.writer()
                        .write(EventEnvelope.builder("order.created.v1")
                                .aggregateType("order")
                                .aggregateId("%04d".formatted(i))
                                .payloadJson("{}")
                                .build());
            }
            tx.commit();
        }

        DeliveryReport report = outbox.deliver();

        assertThat(report.delivered()).hasSize(1_100);
        assertThat(mails).hasSize(1_100).doesNotHaveDuplicates();
        outbox.clear();
        assertThat(outbox).wroteNothing();
        assertThat(new OutboxAdmin(CONNECTIONS, STORE).backlog().pending()).isZero();
    }
}
