package outbox.spring;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * With one transaction manager, events are inserted with a lease and use the hot path, with and without the manager
 * in the context.
 */
@Tag("mariadb")
@Tag("mysql")
class HotPathTest {

    static Stream<Arguments> managers() {
        List<Arguments> all = new ArrayList<>();
        for (boolean given : new boolean[] {true, false}) {
            for (TestDatabase database : TestDatabase.values()) {
                all.add(Arguments.of(database, ManagerKind.JDBC, given));
            }
            all.add(Arguments.of(TestDatabase.H2, ManagerKind.JPA, given));
            all.add(Arguments.of(TestDatabase.POSTGRES, ManagerKind.JPA, given));
        }
        return all.stream();
    }

    @ParameterizedTest(name = "{0}, {1}, manager given = {2}")
    @MethodSource("managers")
    void an_event_is_born_leased_and_goes_the_hot_path(TestDatabase database, ManagerKind kind, boolean given) {
        try (ManagersRig rig = new ManagersRig(database, kind, ManagerKind.UNBOUND, given)) {
            rig.tx(TransactionDefinition.PROPAGATION_REQUIRED).executeWithoutResult(outer -> {
                rig.write("one");
                rig.tx(TransactionDefinition.PROPAGATION_REQUIRED).executeWithoutResult(joined -> rig.write("two"));
            });
            rig.tx(TransactionDefinition.PROPAGATION_REQUIRES_NEW).executeWithoutResult(status -> rig.write("three"));

            assertThat(rig.told).containsExactly("one", "two", "three");
            rig.assertDelivered(List.of("one", "two", "three"));
        }
    }

    /** Like a web request with an open session. */
    @ParameterizedTest(name = "manager given = {0}")
    @ValueSource(booleans = {true, false})
    void a_session_that_is_open_around_the_transaction_changes_nothing(boolean given) {
        try (ManagersRig rig = new ManagersRig(TestDatabase.H2, ManagerKind.JPA, ManagerKind.UNBOUND, given)) {
            EntityManagerFactory factory =
                    Objects.requireNonNull(((JpaTransactionManager) rig.manager).getEntityManagerFactory());
            EntityManager session = factory.createEntityManager();
            TransactionSynchronizationManager.bindResource(factory, new EntityManagerHolder(session));
            try {
                rig.tx(TransactionDefinition.PROPAGATION_REQUIRED).executeWithoutResult(status -> {
                    session.persist(new Account("a"));
                    rig.write("one");
                });
            } finally {
                TransactionSynchronizationManager.unbindResource(factory);
                session.close();
            }

            assertThat(rig.told).containsExactly("one");
            rig.assertDelivered(List.of("one"));
        }
    }
}
