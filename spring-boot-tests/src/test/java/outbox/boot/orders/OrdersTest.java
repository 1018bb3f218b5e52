package outbox.boot.orders;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import outbox.spring.boot.test.OutboxTest;
import outbox.testing.TestOutbox;

import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.testing.OutboxAssertions.assertThat;

/** The test of an application with an outbox, as the guide shows it. */
// region boot
@SpringBootTest
@OutboxTest
class OrdersTest {

    @Autowired
    Orders orders; // your service, whose methods are @Transactional

    @Autowired
    Mails mails; // your listener

    @Autowired
    TestOutbox outbox;

    @BeforeEach
    void forget() {
        mails.forget();
    }

    @Test
    void an_order_is_told_about() {
        orders.create("42");

        assertThat(outbox)
                .wrote("order.created.v1")
                .forAggregate("order", "42")
                .withPayload("{\"lines\": [], \"id\": \"42\"}");
        assertThat(mails.sent).isEmpty();

        outbox.deliver();

        assertThat(mails.sent).containsExactly("42");
        assertThat(outbox).delivered("order.created.v1").to("order:order.created.v1");
    }

    @Test
    void a_mail_that_fails_is_tried_again() {
        mails.down = true;
        orders.create("42");

        outbox.deliver();
        assertThat(outbox).pending("order.created.v1").withError("the mail server is down");

        mails.down = false;
        outbox.clock().advance(Duration.ofMinutes(1));
        outbox.deliver();
        assertThat(mails.sent).containsExactly("42");
    }
}
// endregion
