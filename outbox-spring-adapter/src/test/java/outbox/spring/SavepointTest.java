package outbox.spring;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.transaction.TransactionDefinition;

import static org.assertj.core.api.Assertions.assertThat;

/** An event of a rolled-back savepoint is neither stored nor delivered. */
@ParameterizedClass(name = "gathering = {0}")
@ValueSource(booleans = {false, true})
class SavepointTest {

    private final SpringRig rig;

    SavepointTest(boolean gathering) {
        rig = new SpringRig(gathering);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void only_what_was_written_inside_a_nested_part_goes_with_it() {
        rig.tx.executeWithoutResult(outer -> {
            rig.write("before");
            nested(true, () -> rig.write("inside"));
            rig.write("after");
        });

        assertSurvived("before", "after");
    }

    @Test
    void a_nested_part_that_writes_first_takes_only_its_own_with_it() {
        rig.tx.executeWithoutResult(outer -> {
            nested(true, () -> rig.write("inside"));
            rig.write("after");
        });

        assertSurvived("after");
    }

    @Test
    void a_nested_part_that_ends_well_keeps_its_event() {
        rig.tx.executeWithoutResult(outer -> {
            rig.write("before");
            nested(false, () -> rig.write("inside"));
        });

        assertSurvived("before", "inside");
    }

    @Test
    void a_nested_part_that_wrote_nothing_takes_nothing_with_it() {
        rig.tx.executeWithoutResult(outer -> {
            rig.write("before");
            nested(true, () -> {});
        });

        assertSurvived("before");
    }

    @Test
    void of_two_nested_parts_each_has_its_own_fate() {
        rig.tx.executeWithoutResult(outer -> {
            nested(true, () -> rig.write("first"));
            nested(false, () -> rig.write("second"));
            nested(true, () -> rig.write("third"));
            nested(false, () -> rig.write("fourth"));
        });

        assertSurvived("second", "fourth");
    }

    @Test
    void a_nested_part_inside_a_nested_part_goes_alone_or_with_its_parent() {
        rig.tx.executeWithoutResult(outer -> {
            nested(false, () -> {
                rig.write("parent");
                nested(true, () -> rig.write("child"));
            });
            nested(true, () -> {
                rig.write("lost parent");
                nested(false, () -> rig.write("lost child"));
            });
        });

        assertSurvived("parent");
    }

    @Test
    void a_savepoint_set_by_hand_is_followed() {
        rig.tx.executeWithoutResult(status -> {
            rig.write("before");
            Object savepoint = status.createSavepoint();
            rig.write("inside");
            status.rollbackToSavepoint(savepoint);
            rig.write("after");
        });

        assertSurvived("before", "after");
    }

    @Test
    void a_savepoint_set_by_hand_before_the_first_event_is_followed() {
        rig.tx.executeWithoutResult(status -> {
            Object savepoint = status.createSavepoint();
            rig.write("inside");
            status.rollbackToSavepoint(savepoint);
            rig.write("after");
        });

        assertSurvived("after");
    }

    @Test
    void a_savepoint_that_is_released_keeps_its_events() {
        rig.tx.executeWithoutResult(status -> {
            Object savepoint = status.createSavepoint();
            rig.write("inside");
            status.releaseSavepoint(savepoint);
        });

        assertSurvived("inside");
    }

    @Test
    void rolling_back_twice_to_the_same_savepoint_is_followed() {
        rig.tx.executeWithoutResult(status -> {
            rig.write("before");
            Object savepoint = status.createSavepoint();
            rig.write("first try");
            status.rollbackToSavepoint(savepoint);
            rig.write("second try");
            status.rollbackToSavepoint(savepoint);
            rig.write("third try");
        });

        assertSurvived("before", "third try");
    }

    @Test
    void an_outer_savepoint_takes_an_inner_one_with_it() {
        rig.tx.executeWithoutResult(status -> {
            rig.write("before");
            Object outer = status.createSavepoint();
            rig.write("inside");
            status.createSavepoint();
            rig.write("deeper");
            status.rollbackToSavepoint(outer);
        });

        assertSurvived("before");
    }

    private void nested(boolean rollsBack, Runnable work) {
        rig.tx(TransactionDefinition.PROPAGATION_NESTED).executeWithoutResult(status -> {
            work.run();
            if (rollsBack) {
                status.setRollbackOnly();
            }
        });
    }

    private void assertSurvived(String... events) {
        assertThat(rig.stored()).containsExactly(events);
        assertThat(rig.told).containsExactly(events);
    }
}
