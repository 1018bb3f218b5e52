package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.CircuitBreaker.State;
import outbox.fake.CapturedLog;

import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class CircuitBreakerTest {

    private static final Duration WAIT = Duration.ofSeconds(5);
    private final SettableNanos clock = new SettableNanos();
    private final CircuitBreaker breaker = CircuitBreaker.named("crm")
            .minimumCalls(4)
            .failureRate(0.5)
            .window(Duration.ofSeconds(60))
            .wait(WAIT)
            .openOn(ConnectException.class)
            .ignore(IllegalArgumentException.class)
            .clock(clock)
            .build();

    @Test
    void it_opens_when_enough_of_enough_calls_failed() {
        succeed(2);
        assertThat(fail()).as("an attempt of the event").isNull();
        assertThat(breaker.state()).isEqualTo(State.CLOSED);

        assertThat(fail()).as("the one that opens it counts too").isNull();

        assertThat(breaker.state()).isEqualTo(State.OPEN);
        assertThat(breaker.reason()).isEqualTo("2 of the last 4 calls failed, the last by java.io.IOException");
        assertThat(breaker.tryEnter()).isEqualTo(CircuitBreaker.REFUSED);
    }

    @Test
    void too_few_calls_or_old_ones_do_not_open_it() {
        fail();
        fail();
        fail();
        clock.pass(Duration.ofSeconds(61));
        fail();

        assertThat(breaker.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void the_transports_own_word_opens_it_and_costs_no_attempt() {
        assertThat(breaker.end(breaker.tryEnter(), new ConnectException())).isEqualTo(WAIT);
        assertThat(breaker.state()).isEqualTo(State.OPEN);
    }

    @Test
    void a_transport_may_open_it_without_an_event() {
        breaker.open("the channel was closed");

        assertThat(breaker.isShut()).isTrue();
        assertThat(breaker.reason()).isEqualTo("the channel was closed");
    }

    @Test
    void what_says_nothing_about_the_destination_does_not_open_it() {
        for (int i = 0; i < 20; i++) {
            breaker.end(breaker.tryEnter(), new IllegalArgumentException());
            breaker.end(breaker.tryEnter(), new GiveUpException("no"));
            breaker.end(breaker.tryEnter(), new RetryLaterException(WAIT, "busy"));
        }

        assertThat(breaker.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void a_run_that_began_before_it_opened_costs_no_attempt_if_it_fails_after() {
        long early = breaker.tryEnter();
        breaker.open("down");

        assertThat(breaker.end(early, new IOException())).isEqualTo(WAIT);
        clock.pass(WAIT);
        long probe = breaker.tryEnter();
        assertThat(breaker.end(early, null))
                .as("its late success is no probe's")
                .isNull();
        assertThat(breaker.tryEnter()).isEqualTo(CircuitBreaker.REFUSED);
        assertThat(probe).isNotEqualTo(CircuitBreaker.REFUSED);
    }

    @Test
    void after_the_wait_one_event_is_tried_and_its_failure_costs_no_attempt() {
        breaker.open("down");
        clock.pass(WAIT.minusNanos(1));
        assertThat(breaker.tryEnter()).isEqualTo(CircuitBreaker.REFUSED);
        clock.pass(Duration.ofNanos(1));

        long probe = breaker.tryEnter();

        assertThat(breaker.state()).isEqualTo(State.HALF_OPEN);
        assertThat(breaker.tryEnter()).isEqualTo(CircuitBreaker.REFUSED);
        assertThat(breaker.end(probe, new IOException())).isEqualTo(WAIT);
        assertThat(breaker.isShut()).isTrue();
    }

    @Test
    void an_outage_is_logged_once_with_the_table_and_with_its_end() {
        breaker.guards("orders");
        try (CapturedLog log = CapturedLog.of(CircuitBreaker.class)) {
            breaker.open("the channel was closed");
            breaker.open("the channel was closed");
            for (int probe = 0; probe < 5; probe++) {
                clock.pass(WAIT);
                breaker.end(breaker.tryEnter(), new ConnectException());
                breaker.open("the channel was closed");
            }
            clock.pass(WAIT);
            while (breaker.state() != State.CLOSED) {
                enterAll().forEach(ticket -> breaker.end(ticket, null));
            }

            assertThat(log.messages(Level.WARNING))
                    .containsExactly("Circuit breaker crm of table orders is open: the channel was closed."
                            + " It tries again in PT5S");
            assertThat(log.messages(Level.INFO))
                    .containsExactly("Circuit breaker crm of table orders is closed again; the outage lasted PT30S");
        }
    }

    @Test
    void a_probe_that_did_not_take_place_leaves_its_place_to_another() {
        breaker.open("down");
        clock.pass(WAIT);
        breaker.cancel(breaker.tryEnter());

        assertThat(breaker.tryEnter()).isNotEqualTo(CircuitBreaker.REFUSED);
    }

    @Test
    void successes_let_in_twice_as_many_each_time_until_there_is_no_limit() {
        breaker.open("down");
        clock.pass(WAIT);
        List<Integer> atATime = new ArrayList<>();
        while (breaker.state() != State.CLOSED) {
            List<Long> tickets = enterAll();
            atATime.add(tickets.size());
            tickets.forEach(ticket -> breaker.end(ticket, null));
        }

        assertThat(atATime).containsExactly(1, 2, 4, 8, 16, 32, 64);
    }

    @Test
    void a_failure_on_the_way_up_is_the_events_own_and_too_many_open_it() {
        breaker.open("down");
        clock.pass(WAIT);
        breaker.end(breaker.tryEnter(), null);
        enterAll().forEach(ticket -> breaker.end(ticket, null));

        assertThat(breaker.end(breaker.tryEnter(), new IOException())).isNull();
        assertThat(breaker.end(breaker.tryEnter(), new IOException())).isNull();
        assertThat(breaker.state()).isEqualTo(State.HALF_OPEN);
        assertThat(fail()).as("the one that opens it").isNull();
        assertThat(breaker.state()).isEqualTo(State.OPEN);
    }

    @Test
    void a_poison_event_that_follows_a_success_each_time_is_not_excused() {
        for (int outage = 0; outage < 3; outage++) {
            breaker.open("down");
            clock.pass(WAIT);
            succeed(1);

            assertThat(fail()).isNull();
            assertThat(breaker.state()).isEqualTo(State.OPEN);
        }
    }

    @Test
    void what_failed_before_it_opened_is_forgotten_when_it_is_closed_again() {
        breaker.open("down");
        clock.pass(WAIT);
        while (breaker.state() != State.CLOSED) {
            breaker.end(breaker.tryEnter(), null);
        }
        fail();
        fail();
        fail();

        assertThat(breaker.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void settings_that_make_no_sense_are_refused() {
        CircuitBreaker.Builder builder = CircuitBreaker.named("x");

        assertThatThrownBy(() -> builder.failureRate(Double.NaN)).hasMessageContaining("failureRate");
        assertThatThrownBy(() -> builder.failureRate(0)).hasMessageContaining("failureRate");
        assertThatThrownBy(() -> builder.minimumCalls(0)).hasMessageContaining("minimumCalls");
        assertThatThrownBy(() -> builder.windowCalls(10_001)).hasMessageContaining("windowCalls");
        assertThatThrownBy(() -> builder.wait(Duration.ZERO)).hasMessageContaining("wait must be positive");
        assertThatThrownBy(() -> CircuitBreaker.named(" ")).hasMessageContaining("name");
    }

    private List<Long> enterAll() {
        List<Long> tickets = new ArrayList<>();
        for (long ticket = breaker.tryEnter(); ticket != CircuitBreaker.REFUSED; ticket = breaker.tryEnter()) {
            tickets.add(ticket);
        }
        return tickets;
    }

    private void succeed(int times) {
        for (int i = 0; i < times; i++) {
            breaker.end(breaker.tryEnter(), null);
        }
    }

    private @Nullable Duration fail() {
        return breaker.end(breaker.tryEnter(), new IOException());
    }
}
