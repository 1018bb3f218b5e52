package outbox.spring;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;
import outbox.TransactionStateException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** All seven propagations, inside a transaction and without one, with every outcome of both. */
@ParameterizedClass(name = "gathering = {0}")
@ValueSource(booleans = {false, true})
class PropagationTest {

    private final SpringRig rig;

    PropagationTest(boolean gathering) {
        rig = new SpringRig(gathering);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    @ParameterizedTest
    @CsvSource({"REQUIRED", "REQUIRES_NEW", "NESTED"})
    void a_propagation_that_begins_a_transaction_may_write(String propagation) {
        rig.tx(code(propagation)).executeWithoutResult(status -> rig.write("event"));

        assertThat(rig.stored()).containsExactly("event");
        assertThat(rig.told).containsExactly("event");
    }

    @ParameterizedTest
    @CsvSource({"REQUIRED", "REQUIRES_NEW", "NESTED"})
    void a_transaction_that_rolls_back_leaves_nothing(String propagation) {
        rig.tx(code(propagation)).executeWithoutResult(status -> {
            rig.write("event");
            status.setRollbackOnly();
        });

        assertThat(rig.stored()).isEmpty();
        assertThat(rig.told).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"SUPPORTS", "NOT_SUPPORTED", "NEVER"})
    void a_propagation_that_begins_none_refuses_to_write(String propagation) {
        rig.tx(code(propagation))
                .executeWithoutResult(status -> assertThatExceptionOfType(TransactionStateException.class)
                        .isThrownBy(() -> rig.write("event")));

        assertThat(rig.stored()).isEmpty();
        assertThat(rig.told).isEmpty();
    }

    @Test
    void a_mandatory_transaction_is_not_begun() {
        assertThatExceptionOfType(IllegalTransactionStateException.class)
                .isThrownBy(() -> rig.tx(code("MANDATORY")).executeWithoutResult(status -> rig.write("event")));
    }

    @ParameterizedTest
    @CsvSource({
        // propagation, inner rolls back, outer rolls back → stored and told
        "REQUIRED,      false, false, outer inner",
        "REQUIRED,      false, true,  ''",
        "SUPPORTS,      false, false, outer inner",
        "SUPPORTS,      false, true,  ''",
        "MANDATORY,     false, false, outer inner",
        "MANDATORY,     false, true,  ''",
        "REQUIRES_NEW,  false, false, outer inner",
        "REQUIRES_NEW,  false, true,  inner",
        "REQUIRES_NEW,  true,  false, outer",
        "REQUIRES_NEW,  true,  true,  ''",
        "NESTED,        false, false, outer inner",
        "NESTED,        false, true,  ''",
        "NESTED,        true,  false, outer",
        "NESTED,        true,  true,  ''"
    })
    void an_event_follows_its_own_transaction(
            String propagation, boolean innerRollsBack, boolean outerRollsBack, String survivors) {
        rig.tx.executeWithoutResult(outer -> {
            rig.write("outer");
            rig.tx(code(propagation)).executeWithoutResult(inner -> {
                rig.write("inner");
                if (innerRollsBack) {
                    inner.setRollbackOnly();
                }
            });
            if (outerRollsBack) {
                outer.setRollbackOnly();
            }
        });

        String[] expected = survivors.isEmpty() ? new String[0] : survivors.split(" ", -1);
        assertThat(rig.stored()).containsExactlyInAnyOrder(expected);
        assertThat(rig.told).containsExactlyInAnyOrder(expected);
    }

    @ParameterizedTest
    @CsvSource({"REQUIRED", "SUPPORTS", "MANDATORY"})
    void a_part_that_joined_and_rolls_back_takes_everything_with_it(String propagation) {
        assertThatExceptionOfType(UnexpectedRollbackException.class)
                .isThrownBy(() -> rig.tx.executeWithoutResult(outer -> {
                    rig.write("outer");
                    rig.tx(code(propagation)).executeWithoutResult(inner -> {
                        rig.write("inner");
                        inner.setRollbackOnly();
                    });
                }));

        assertThat(rig.stored()).isEmpty();
        assertThat(rig.told).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void while_a_transaction_is_suspended_nothing_is_written(boolean rollsBack) {
        rig.tx.executeWithoutResult(outer -> {
            rig.write("before");
            rig.tx(code("NOT_SUPPORTED"))
                    .executeWithoutResult(none -> assertThatExceptionOfType(TransactionStateException.class)
                            .isThrownBy(() -> rig.write("suspended")));
            rig.write("after");
            if (rollsBack) {
                outer.setRollbackOnly();
            }
        });

        String[] expected = rollsBack ? new String[0] : new String[] {"before", "after"};
        assertThat(rig.stored()).containsExactly(expected);
        assertThat(rig.told).containsExactly(expected);
    }

    @Test
    void never_refuses_to_run_inside_a_transaction_and_the_outer_event_survives() {
        rig.tx.executeWithoutResult(outer -> {
            rig.write("outer");
            assertThatExceptionOfType(IllegalTransactionStateException.class)
                    .isThrownBy(() -> rig.tx(code("NEVER")).executeWithoutResult(status -> rig.write("inner")));
        });

        assertThat(rig.stored()).containsExactly("outer");
        assertThat(rig.told).containsExactly("outer");
    }

    @Test
    void an_inner_transaction_is_told_before_the_outer_one() {
        rig.tx.executeWithoutResult(outer -> {
            rig.write("outer");
            rig.tx(code("REQUIRES_NEW")).executeWithoutResult(inner -> rig.write("inner"));
            assertThat(rig.told).containsExactly("inner");
        });

        assertThat(rig.told).containsExactly("inner", "outer");
    }

    @Test
    void a_transaction_that_only_the_inner_part_writes_in_is_told_about_it() {
        rig.tx.executeWithoutResult(
                outer -> rig.tx(code("REQUIRES_NEW")).executeWithoutResult(inner -> rig.write("inner")));

        assertThat(rig.told).containsExactly("inner");
    }

    private static int code(String propagation) {
        return switch (propagation) {
            case "REQUIRED" -> TransactionDefinition.PROPAGATION_REQUIRED;
            case "SUPPORTS" -> TransactionDefinition.PROPAGATION_SUPPORTS;
            case "MANDATORY" -> TransactionDefinition.PROPAGATION_MANDATORY;
            case "REQUIRES_NEW" -> TransactionDefinition.PROPAGATION_REQUIRES_NEW;
            case "NOT_SUPPORTED" -> TransactionDefinition.PROPAGATION_NOT_SUPPORTED;
            case "NEVER" -> TransactionDefinition.PROPAGATION_NEVER;
            case "NESTED" -> TransactionDefinition.PROPAGATION_NESTED;
            default -> throw new IllegalArgumentException(propagation);
        };
    }
}
