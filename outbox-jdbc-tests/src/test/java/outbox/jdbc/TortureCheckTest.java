package outbox.jdbc;

import org.junit.jupiter.api.Test;
import outbox.jdbc.TortureLedger.End;
import outbox.jdbc.TortureLedger.Fault;
import outbox.jdbc.TortureLedger.Run;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

/** The checker of the torture test finds each kind of violation. Times are in milliseconds. */
class TortureCheckTest {

    private static final Run FIRST = run(1, "x", 0, 10, End.OK);
    private static final Run SECOND = run(2, "x", 20, 30, End.OK);

    @Test
    void events_in_order_are_fine() {
        assertThat(violations(2, List.of(FIRST, SECOND))).isEmpty();
        assertThat(violations(2, List.of(run(1, "x", 0, 5, End.FAILED), run(1, "y", 6, 9, End.OK), SECOND)))
                .isEmpty();
    }

    @Test
    void a_lost_event_is_found() {
        assertThat(violations(3, List.of(FIRST, SECOND)))
                .singleElement()
                .asString()
                .startsWith("lost: version 3");
        assertThat(violations(2, List.of(FIRST, run(2, "x", 20, 30, End.FAILED))))
                .singleElement()
                .asString()
                .startsWith("lost: version 2");
    }

    @Test
    void an_event_that_was_never_committed_is_found() {
        assertThat(violations(1, List.of(FIRST, SECOND)))
                .singleElement()
                .asString()
                .startsWith("phantom");
    }

    @Test
    void an_event_that_started_too_early_is_found() {
        assertThat(violations(2, List.of(FIRST, run(2, "x", 5, 30, End.OK))))
                .singleElement()
                .asString()
                .startsWith("order: version 2");
        assertThat(violations(2, List.of(FIRST, run(2, "y", 9, 12, End.FAILED), SECOND)))
                .singleElement()
                .asString()
                .startsWith("order: version 2");
    }

    @Test
    void a_duplicate_needs_a_fault_of_a_node_that_ran_the_event() {
        Run again = run(1, "y", 15, 18, End.OK);

        assertThat(violations(2, List.of(FIRST, again, SECOND)))
                .singleElement()
                .asString()
                .startsWith("duplicate without a cause");
        assertThat(violations(2, List.of(FIRST, again, SECOND), fault("kill", "x", 11, Long.MAX_VALUE)))
                .isEmpty();
        assertThat(violations(2, List.of(FIRST, again, SECOND), fault("kill", "z", 11, Long.MAX_VALUE)))
                .hasSize(1);
        assertThat(violations(2, List.of(FIRST, again, SECOND), fault(TortureLedger.RESTART, "x", 11, 14)))
                .hasSize(1);
        assertThat(violations(2, List.of(FIRST, again, SECOND), fault("stop", "x", 9000, 9900)))
                .hasSize(1);
    }

    @Test
    void an_event_that_starts_again_after_the_next_one_needs_a_node_that_stood_still() {
        Run again = run(1, "y", 25, 28, End.OK);
        Fault kill = fault("kill", "x", 12, Long.MAX_VALUE);

        assertThat(violations(2, List.of(FIRST, SECOND, again), kill))
                .singleElement()
                .asString()
                .startsWith("terminal: version 1");
        assertThat(violations(2, List.of(FIRST, SECOND, again), kill, fault("stop", "y", 5, 24)))
                .isEmpty();
    }

    private static List<String> violations(int versions, List<Run> runs, Fault... faults) {
        return new TortureCheck(runs, List.of(faults)).violations(Map.of("a", versions));
    }

    private static Run run(int version, String boot, long start, long end, End outcome) {
        return new Run("event-" + version, "a", version, boot, nanos(start), nanos(end), outcome);
    }

    private static Fault fault(String kind, String boot, long from, long to) {
        return new Fault(kind, boot, nanos(from), to == Long.MAX_VALUE ? to : nanos(to));
    }

    private static long nanos(long millis) {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }
}
