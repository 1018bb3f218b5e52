package outbox.rabbitmq;

import org.junit.jupiter.api.Test;
import outbox.inbox.InboxException;
import outbox.rabbitmq.Outcome.Kind;

import java.sql.SQLException;

import static org.assertj.core.api.Assertions.assertThat;

class OutcomeTest {

    @Test
    void what_fails_before_the_handler_is_no_fault_of_the_message_except_for_its_id() {
        assertThat(Outcome.of(new IllegalStateException("wrong table"), false).kind())
                .isEqualTo(Kind.PUT_OFF);
        assertThat(Outcome.of(new InboxException("wrong name", null), false).kind())
                .isEqualTo(Kind.PUT_OFF);
        assertThat(Outcome.of(new SQLException("too slow", "57014"), false).kind())
                .isEqualTo(Kind.PUT_OFF);
        assertThat(Outcome.of(new IllegalArgumentException("eventId"), false).kind())
                .isEqualTo(Kind.DEAD);
    }

    @Test
    void a_handler_that_is_slow_or_breaks_a_constraint_fails() {
        for (String state : new String[] {"57014", "55000", "40002", "23505", "22001"}) {
            assertThat(Outcome.of(new SQLException("no", state), true).kind()).isEqualTo(Kind.FAILED);
        }
        for (String state : new String[] {"40001", "40P01", "08006", "57P01", "55P03", "53300"}) {
            assertThat(Outcome.of(new SQLException("no", state), true).kind()).isEqualTo(Kind.PUT_OFF);
        }
        assertThat(Outcome.of(new IllegalArgumentException("no"), true).kind()).isEqualTo(Kind.FAILED);
    }

    @Test
    void a_reason_is_one_line_that_cannot_talk_to_a_terminal() {
        String forged = "no\n2026-01-01 ERROR all lost\u001b[2J\u009b\u2028\u202e";

        assertThat(Outcome.of(new IllegalStateException(forged), true).reason())
                .contains("no\\n2026-01-01 ERROR all lost")
                .doesNotContain("\n", "\u001b", "\u009b", "\u2028", "\u202e");
    }
}
