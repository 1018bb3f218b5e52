package outbox.relay;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.poller.OutboxPoller;
import outbox.relay.RelayStatus.Role;

import java.time.Duration;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

class RelayStatusTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofSeconds(29);
    private static final Duration LONG = Duration.ofSeconds(31);

    private static OutboxPoller.Status poller(boolean running, @Nullable Duration sinceLook) {
        return new OutboxPoller.Status(running, Duration.ofSeconds(1), sinceLook, null);
    }

    private static OutboxDispatcher.Status dispatcher(int live, @Nullable Duration marksFailing) {
        return new OutboxDispatcher.Status(2, live, 0, 0, marksFailing, "refused");
    }

    private static RelayStatus status(OutboxPoller.Status poller, OutboxDispatcher.Status dispatcher) {
        return new RelayStatus(Role.LEADER, poller, dispatcher, new Protection.Status(List.of(), List.of(), List.of()));
    }

    @Test
    void a_relay_that_looks_writes_and_has_workers_has_no_fault() {
        assertThat(status(poller(true, SHORT), dispatcher(1, null)).fault(LIMIT))
                .isNull();
        assertThat(status(poller(true, SHORT), dispatcher(2, SHORT)).fault(LIMIT))
                .isNull();
        assertThat(status(poller(true, null), dispatcher(2, null)).fault(LIMIT)).isNull();
    }

    @Test
    void each_fault_is_named() {
        assertThat(status(poller(false, SHORT), dispatcher(2, null)).fault(LIMIT))
                .contains("does not run");
        assertThat(status(poller(true, LONG), dispatcher(2, null)).fault(LIMIT)).contains("has not looked", "31 s");
        assertThat(status(poller(true, SHORT), dispatcher(0, null)).fault(LIMIT))
                .contains("workers");
        assertThat(status(poller(true, SHORT), dispatcher(2, LONG)).fault(LIMIT))
                .contains("cannot be written", "31 s");
    }

    @Test
    void the_error_of_the_poller_comes_before_that_of_a_delivery() {
        OutboxPoller.Status failed = new OutboxPoller.Status(true, LIMIT, SHORT, "no route");

        assertThat(status(failed, dispatcher(2, null)).lastError()).isEqualTo("no route");
        assertThat(status(poller(true, SHORT), dispatcher(2, null)).lastError()).isEqualTo("refused");
    }
}
