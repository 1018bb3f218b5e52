package outbox.spi;

import org.junit.jupiter.api.Test;
import outbox.fake.CapturedLog;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;

class TxCallbacksTest {

    private final List<String> ran = new ArrayList<>();
    private final TxCallbacks callbacks = new TxCallbacks();

    @Test
    void callbacks_run_in_their_order_and_only_those_of_the_outcome() {
        callbacks.afterCommit(() -> ran.add("first"));
        callbacks.afterRollback(() -> ran.add("rollback"));
        callbacks.afterCommit(() -> ran.add("second"));

        callbacks.committed();

        assertThat(ran).containsExactly("first", "second");
    }

    @Test
    void after_a_rollback_only_rollback_callbacks_run() {
        callbacks.afterCommit(() -> ran.add("commit"));
        callbacks.afterRollback(() -> ran.add("rollback"));

        callbacks.rolledBack();

        assertThat(ran).containsExactly("rollback");
    }

    @Test
    void what_came_after_a_savepoint_is_forgotten_with_it() {
        Object savepoint = new Object();
        callbacks.afterCommit(() -> ran.add("before"));
        callbacks.savepoint(savepoint);
        callbacks.afterCommit(() -> ran.add("inside"));

        callbacks.savepointRollback(savepoint);
        callbacks.afterCommit(() -> ran.add("after"));
        callbacks.committed();

        assertThat(ran).containsExactly("before", "after");
    }

    @Test
    void what_is_undone_is_told_once_in_reverse_order_with_its_savepoint_or_with_the_transaction() {
        Object savepoint = new Object();
        callbacks.whenUndone(() -> ran.add("before"));
        callbacks.savepoint(savepoint);
        callbacks.whenUndone(() -> ran.add("inside"));
        callbacks.whenUndone(() -> ran.add("later"));

        callbacks.savepointRollback(savepoint);
        assertThat(ran).containsExactly("later", "inside");

        callbacks.afterRollback(() -> ran.add("rollback"));
        callbacks.rolledBack();
        assertThat(ran).containsExactly("later", "inside", "before", "rollback");
    }

    @Test
    void what_was_committed_is_not_undone() {
        callbacks.whenUndone(() -> ran.add("undone"));

        callbacks.committed();

        assertThat(ran).isEmpty();
    }

    @Test
    void an_end_that_nobody_knows_is_told_to_who_asked_for_it_only() {
        callbacks.afterCommit(() -> ran.add("commit"));
        callbacks.afterRollback(() -> ran.add("rollback"));
        callbacks.whenUndone(() -> ran.add("undone"));
        callbacks.whenUnknown(() -> ran.add("unknown"));

        callbacks.unknown();

        assertThat(ran).containsExactly("unknown");
    }

    @Test
    void a_savepoint_set_before_anything_was_registered_forgets_everything() {
        callbacks.afterCommit(() -> ran.add("inside"));

        callbacks.savepointRollback(new Object());
        callbacks.committed();

        assertThat(ran).isEmpty();
    }

    @Test
    void rolling_back_an_inner_savepoint_keeps_the_outer_part() {
        Object outer = new Object();
        Object inner = new Object();
        callbacks.savepoint(outer);
        callbacks.afterCommit(() -> ran.add("outer"));
        callbacks.savepoint(inner);
        callbacks.afterCommit(() -> ran.add("inner"));

        callbacks.savepointRollback(inner);
        callbacks.committed();

        assertThat(ran).containsExactly("outer");
    }

    @Test
    void rolling_back_twice_to_a_savepoint_works() {
        Object savepoint = new Object();
        callbacks.savepoint(savepoint);
        callbacks.afterCommit(() -> ran.add("one"));
        callbacks.savepointRollback(savepoint);
        callbacks.afterCommit(() -> ran.add("two"));

        callbacks.savepointRollback(savepoint);
        callbacks.committed();

        assertThat(ran).isEmpty();
    }

    @Test
    void a_savepoint_that_equals_another_is_told_apart() {
        Object one = new String("same");
        Object other = new String("same");
        callbacks.savepoint(one);
        callbacks.afterCommit(() -> ran.add("between"));
        callbacks.savepoint(other);
        callbacks.afterCommit(() -> ran.add("inside"));

        callbacks.savepointRollback(other);
        callbacks.committed();

        assertThat(ran).containsExactly("between");
    }

    @Test
    void a_callback_that_fails_keeps_no_other_from_running() {
        callbacks.afterCommit(() -> {
            throw new IllegalStateException("broken");
        });
        callbacks.afterCommit(() -> {
            throw new StackOverflowError();
        });
        callbacks.afterCommit(() -> ran.add("last"));

        try (CapturedLog log = CapturedLog.of(TxCallbacks.class)) {
            callbacks.committed();

            assertThat(log.messages(Level.SEVERE)).hasSize(2);
        }
        assertThat(ran).containsExactly("last");
    }
}
