package outbox.spring;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import outbox.EventEnvelope;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Savepoints that are set directly on the connection, so that Spring does not know them, as in nested transactions
 * of jOOQ.
 */
@ParameterizedClass(name = "{0}, {1}")
@MethodSource("managers")
@Tag("mariadb")
@Tag("mysql")
class RawSavepointTest {

    // one rig for all tests of a combination
    private static final Map<List<Object>, ManagersRig> RIGS = new HashMap<>();

    private final ManagersRig rig;

    RawSavepointTest(TestDatabase database, ManagerKind kind) {
        rig = RIGS.computeIfAbsent(
                List.of(database, kind), any -> new ManagersRig(database, kind, ManagerKind.JDBC, true));
    }

    static Stream<Arguments> managers() {
        List<Arguments> all = new ArrayList<>();
        for (TestDatabase database : TestDatabase.values()) {
            all.add(Arguments.of(database, ManagerKind.JDBC));
        }
        all.add(Arguments.of(TestDatabase.H2, ManagerKind.JPA));
        all.add(Arguments.of(TestDatabase.POSTGRES, ManagerKind.JPA));
        return all.stream();
    }

    @AfterEach
    void clear() {
        if (RIGS.containsValue(rig)) {
            rig.clear();
        }
    }

    @AfterAll
    static void close() {
        RIGS.values().forEach(ManagersRig::close);
        RIGS.clear();
    }

    @ParameterizedTest
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void an_event_that_is_rolled_back_to_a_savepoint_is_not_delivered(boolean rollsBack, boolean writesFirst) {
        inTransaction(status -> {
            if (writesFirst) {
                rig.write("one");
            }
            rig.underSavepoint(rollsBack, () -> rig.write("two"));
            rig.write("three");
        });

        List<String> expected = new ArrayList<>(List.of("three"));
        if (writesFirst) {
            expected.add("one");
        }
        if (!rollsBack) {
            expected.add("two");
        }
        assertDeliveredHot(expected);
    }

    @Test
    void a_savepoint_inside_a_savepoint_goes_alone_or_with_its_parent() {
        inTransaction(status -> {
            rig.underSavepoint(false, () -> {
                rig.write("one");
                rig.underSavepoint(true, () -> rig.write("two"));
            });
            rig.underSavepoint(true, () -> rig.underSavepoint(false, () -> rig.write("three")));
        });

        assertDeliveredHot(List.of("one"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_savepoint_as_text_is_followed(boolean released) {
        JdbcTemplate sql = new JdbcTemplate(rig.pool);
        inTransaction(status -> {
            sql.execute("SAVEPOINT s");
            rig.write("one");
            sql.execute(released ? "RELEASE SAVEPOINT s" : "ROLLBACK TO SAVEPOINT s");
            rig.write("two");
        });

        assertDeliveredHot(released ? List.of("one", "two") : List.of("two"));
    }

    @Test
    void events_that_were_written_together_go_together() {
        inTransaction(status -> rig.underSavepoint(
                true, () -> rig.writer.writeAll(List.of(event("one", "id-1"), event("two", "id-2")))));

        assertDeliveredHot(List.of());
    }

    @Test
    void an_event_that_is_written_again_after_its_rollback_is_delivered_as_written_last() {
        inTransaction(status -> {
            rig.underSavepoint(true, () -> rig.writer.write(event("one", "id")));
            rig.writer.write(event("two", "id"));
        });

        assertDeliveredHot(List.of("two"));
    }

    @Test
    void a_savepoint_of_the_transaction_that_another_managers_transaction_rolls_back_is_followed() {
        rig.tx(TransactionDefinition.PROPAGATION_REQUIRED).executeWithoutResult(ours -> {
            rig.write("one");
            rig.underSavepoint(false, () -> {
                rig.write("two");
                rig.otherTx().executeWithoutResult(other -> rig.underSavepoint(true, () -> rig.write("three")));
            });
        });

        assertDeliveredHot(List.of("one", "two"));
    }

    /**
     * A callback that is registered while the callbacks before the commit run is not called. The rollback is not
     * noticed then, so the delivery checks the row.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void an_event_that_a_callback_before_the_commit_writes_is_delivered_if_it_exists(boolean rollsBack) {
        inTransaction(status ->
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void beforeCommit(boolean readOnly) {
                        rig.underSavepoint(rollsBack, () -> rig.write("one"));
                    }
                }));
        inTransaction(status -> rig.write("two"));

        rig.assertDelivered(rollsBack ? List.of("two") : List.of("one", "two"));
        RIGS.values().remove(rig);
        rig.assertNothingIsLeft(rollsBack ? List.of("two") : List.of("one", "two"));
    }

    private void inTransaction(Consumer<TransactionStatus> work) {
        rig.tx(TransactionDefinition.PROPAGATION_REQUIRED).executeWithoutResult(work);
    }

    private void assertDeliveredHot(List<String> expected) {
        assertThat(rig.told).as("told").containsExactlyInAnyOrderElementsOf(expected);
        rig.assertDelivered(expected);
    }

    private static EventEnvelope event(String type, String id) {
        return EventEnvelope.builder(type).eventId(id).payloadJson("{}").build();
    }
}
