package outbox.boot.orders;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.context.transaction.TestTransaction;
import org.springframework.transaction.annotation.Transactional;
import outbox.spring.boot.test.OutboxTest;
import outbox.testing.TestOutbox;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.testing.OutboxAssertions.assertThat;

/** The behavior of {@code @OutboxTest} that the guide does not show. */
@Timeout(60)
@SpringBootTest(properties = "outbox.retry.max-attempts=3")
@OutboxTest
class OutboxUnderTestTest {

    @Autowired
    Orders orders;

    @Autowired
    Mails mails;

    @Autowired
    TestOutbox outbox;

    @BeforeEach
    void forget() {
        mails.forget();
        assertThat(outbox).wroteNothing();
    }

    @Test
    void payloads_are_read_by_the_codec_of_the_application() {
        orders.create("42");

        assertThat(outbox).wrote("order.created.v1").withPayload(new OrderCreated("42", List.of()));
    }

    @Test
    void the_settings_of_the_application_decide_how_often() {
        mails.down = true;
        orders.create("42");

        outbox.deliverUntilQuiet();

        assertThat(outbox).dead("order.created.v1").withAttempts(3);
    }

    // region transactional
    @Test
    @Transactional
    void an_order_is_written_in_the_transaction_of_the_test() {
        orders.create("42");

        assertThat(outbox).wrote("order.created.v1").forAggregate("order", "42");
        assertThatThrownBy(outbox::deliver).hasMessageContaining("A transaction is active on this thread");
    }
    // endregion

    @Test
    @Transactional
    void a_transaction_of_the_test_that_ends_by_a_commit_can_be_delivered() {
        orders.create("42");
        TestTransaction.flagForCommit();
        TestTransaction.end();

        outbox.deliver();

        assertThat(mails.sent).containsExactly("42");
    }

    @Nested
    class Inside {

        @Test
        void a_nested_class_starts_with_an_empty_outbox_too() {
            orders.create("43");

            assertThat(outbox).wrote("order.created.v1").times(1);
        }
    }
}
