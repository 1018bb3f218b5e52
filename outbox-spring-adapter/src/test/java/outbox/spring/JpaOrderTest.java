package outbox.spring;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.OutboxSchema;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.LockModeType;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * JPA updates the row of an entity at the commit. Concurrent transactions therefore meet only there, and the numbers
 * of their events need not be in the order of commits. See docs/reference/order.md.
 */
@Tag("mariadb")
class JpaOrderTest {

    /** What business code does between the change of the entity and the write of the event. */
    private enum Remedy {
        NONE,
        FLUSH,
        LOCK
    }

    @ParameterizedTest
    @CsvSource({"POSTGRES", "MARIADB"})
    void an_entity_that_is_flushed_at_the_commit_lets_a_later_number_commit_first(TestDatabase database) {
        assertThat(commitsBeforeTheFirst(database, Remedy.NONE)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"POSTGRES, FLUSH", "MARIADB, FLUSH", "POSTGRES, LOCK", "MARIADB, LOCK"})
    void an_entity_that_is_flushed_or_locked_before_the_write_keeps_the_order_of_commits(
            TestDatabase database, Remedy remedy) {
        assertThat(commitsBeforeTheFirst(database, remedy)).isFalse();
    }

    /**
     * Whether the second of two transactions on one entity commits while the first, which has the lower number,
     * waits for it.
     */
    private static boolean commitsBeforeTheFirst(TestDatabase database, Remedy remedy) {
        AbstractJdbcEventStore store = database.store();
        ExecutorService other = Executors.newSingleThreadExecutor();
        try (HikariDataSource pool = database.pool();
                EntityManagerFactory factory = ManagerKind.entityManagers(pool)) {
            OutboxSchema.create(pool, store, Capability.ORDER);
            TransactionTemplate tx = new TransactionTemplate(new JpaTransactionManager(factory));
            EntityManager accounts = SharedEntityManagerCreator.createSharedEntityManager(factory);
            OutboxWriter writer = new OutboxWriter(new SpringTxContext(pool), store);
            tx.executeWithoutResult(status -> accounts.persist(new Account("a")));
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch ended = new CountDownLatch(1);

            boolean overtook = Boolean.TRUE.equals(tx.execute(status -> {
                deposit(accounts, remedy);
                write(writer, "first");
                other.execute(() -> {
                    tx.executeWithoutResult(its -> {
                        begun.countDown();
                        deposit(accounts, remedy);
                        write(writer, "second");
                    });
                    ended.countDown();
                });
                assertThat(await(begun, 20_000)).isTrue();
                return await(ended, remedy == Remedy.NONE ? 20_000 : 200);
            }));
            assertThat(await(ended, 20_000)).isTrue();

            assertThat(new JdbcTemplate(pool)
                            .queryForList("SELECT event_type FROM outbox_event ORDER BY seq", String.class))
                    .containsExactly("first", "second");
            return overtook;
        } finally {
            other.shutdown();
        }
    }

    private static void deposit(EntityManager accounts, Remedy remedy) {
        Account account = accounts.find(
                Account.class, "a", remedy == Remedy.LOCK ? LockModeType.PESSIMISTIC_WRITE : LockModeType.NONE);
        account.deposit(1);
        if (remedy == Remedy.FLUSH) {
            accounts.flush();
        }
    }

    private static void write(OutboxWriter writer, String type) {
        writer.write(EventEnvelope.builder(type)
                .aggregateType("Account")
                .aggregateId("a")
                .payloadJson("{}")
                .build());
    }

    private static boolean await(CountDownLatch latch, long millis) {
        try {
            return latch.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
