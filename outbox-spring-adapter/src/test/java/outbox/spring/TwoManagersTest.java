package outbox.spring;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.TransactionTemplate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Transactions of another manager around and inside the transaction of the outbox. An event follows the transaction
 * that stores it. Event "one" is written before the inner transaction, "two" inside it, "three" after it.
 */
@ParameterizedClass(name = "{0}: {1} and {2}, manager given = {3}")
@MethodSource("managers")
class TwoManagersTest {

    /** The position of the transaction of the other manager. A is the manager of the outbox, B the other. */
    private enum Place {
        /** A { one B { two } three } */
        INSIDE,
        /** A { one B { A joined { two } } three } */
        INSIDE_AND_JOINED,
        /**
         * A { one B { A nested { two } } three }; with JPA, whose manager has no nested transactions, a savepoint
         */
        INSIDE_AND_NESTED,
        /** A { one B { new A { two } } three } */
        INSIDE_AND_NEW,
        /** B { A { one two three } } */
        OUTSIDE,
        /** B { A { one new B { two } three } } */
        BOTH;

        boolean hasThirdPart() {
            return this == INSIDE_AND_NESTED || this == INSIDE_AND_NEW;
        }
    }

    // one rig for all tests of a combination
    private static final Map<List<Object>, ManagersRig> RIGS = new HashMap<>();

    private final ManagersRig rig;
    private final ManagerKind kind;
    private final boolean given;
    private final boolean otherIsSeen;

    TwoManagersTest(TestDatabase database, ManagerKind kind, ManagerKind other, boolean given) {
        this.kind = kind;
        this.given = given;
        this.otherIsSeen = other != ManagerKind.UNBOUND;
        rig = RIGS.computeIfAbsent(
                List.of(database, kind, other, given), any -> new ManagersRig(database, kind, other, given));
    }

    static Stream<Arguments> managers() {
        List<Arguments> all = new ArrayList<>();
        for (boolean given : new boolean[] {true, false}) {
            for (ManagerKind other : ManagerKind.values()) {
                all.add(Arguments.of(TestDatabase.H2, ManagerKind.JDBC, other, given));
                all.add(Arguments.of(TestDatabase.H2, ManagerKind.JPA, other, given));
            }
            all.add(Arguments.of(TestDatabase.POSTGRES, ManagerKind.JDBC, ManagerKind.JPA, given));
            all.add(Arguments.of(TestDatabase.POSTGRES, ManagerKind.JPA, ManagerKind.JDBC, given));
        }
        return all.stream();
    }

    @AfterEach
    void clear() {
        rig.clear();
    }

    @AfterAll
    static void close() {
        RIGS.values().forEach(ManagersRig::close);
        RIGS.clear();
    }

    static Stream<Arguments> outcomes() {
        List<Arguments> all = new ArrayList<>();
        for (Place place : Place.values()) {
            for (int bits = 0; bits < (place.hasThirdPart() ? 16 : 8); bits++) {
                all.add(Arguments.of(place, (bits & 1) == 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0));
            }
        }
        return all.stream();
    }

    @ParameterizedTest(name = "{0}, writes first = {1}, A rolls back = {2}, B rolls back = {3}, third rolls back = {4}")
    @MethodSource("outcomes")
    void an_event_follows_the_transaction_that_stores_it(
            Place place, boolean writesFirst, boolean rollsBack, boolean otherRollsBack, boolean thirdRollsBack) {
        // Without the manager, a transaction that binds nothing to the thread cannot be noticed before
        // the first write.
        boolean first = writesFirst || !given && !otherIsSeen;

        run(place, first, rollsBack, otherRollsBack, thirdRollsBack);

        List<String> stored = new ArrayList<>();
        if (!rollsBack) {
            stored.addAll(first ? List.of("one", "three") : List.of("three"));
        }
        if (place == Place.INSIDE_AND_NEW ? !thirdRollsBack : !rollsBack && !thirdRollsBack) {
            stored.add("two");
        }
        rig.assertDelivered(stored);
        assertThat(rig.told)
                .containsExactlyInAnyOrderElementsOf(
                        stored.stream().filter(event -> isHot(place, event)).toList());
    }

    private void run(Place place, boolean first, boolean rollsBack, boolean otherRollsBack, boolean thirdRollsBack) {
        switch (place) {
            case INSIDE -> ours(first, rollsBack, () -> other(otherRollsBack, () -> rig.write("two")));
            case INSIDE_AND_JOINED ->
                ours(first, rollsBack, () -> other(otherRollsBack, () -> again("REQUIRED", false)));
            case INSIDE_AND_NESTED -> ours(first, rollsBack, () -> other(otherRollsBack, () -> nested(thirdRollsBack)));
            case INSIDE_AND_NEW ->
                ours(first, rollsBack, () -> other(otherRollsBack, () -> again("REQUIRES_NEW", thirdRollsBack)));
            case OUTSIDE -> other(otherRollsBack, () -> ours(first, rollsBack, () -> rig.write("two")));
            case BOTH ->
                other(
                        otherRollsBack,
                        () -> ours(first, rollsBack, () -> other(otherRollsBack, () -> rig.write("two"))));
        }
    }

    private boolean isHot(Place place, String event) {
        boolean otherIsOutside = place == Place.OUTSIDE || place == Place.BOTH;
        if (!given && otherIsSeen && (otherIsOutside || event.equals("two"))) {
            return false;
        }
        return !event.equals("two") || place == Place.INSIDE_AND_NEW || place == Place.OUTSIDE;
    }

    private void ours(boolean first, boolean rollsBack, Runnable work) {
        rig.tx(TransactionDefinition.PROPAGATION_REQUIRED).executeWithoutResult(status -> {
            if (first) {
                rig.write("one");
            }
            work.run();
            rig.write("three");
            end(status, rollsBack);
        });
    }

    private void other(boolean rollsBack, Runnable work) {
        SpringRig.template(rig.other, TransactionDefinition.PROPAGATION_REQUIRES_NEW)
                .executeWithoutResult(status -> {
                    work.run();
                    end(status, rollsBack);
                });
    }

    private void again(String propagation, boolean rollsBack) {
        TransactionTemplate template = new TransactionTemplate(rig.manager);
        template.setPropagationBehaviorName("PROPAGATION_" + propagation);
        template.executeWithoutResult(status -> {
            rig.write("two");
            end(status, rollsBack);
        });
    }

    private void nested(boolean rollsBack) {
        if (kind == ManagerKind.JDBC) {
            again("NESTED", rollsBack);
        } else {
            rig.underSavepoint(rollsBack, () -> rig.write("two"));
        }
    }

    private static void end(TransactionStatus status, boolean rollsBack) {
        if (rollsBack) {
            status.setRollbackOnly();
        }
    }
}
