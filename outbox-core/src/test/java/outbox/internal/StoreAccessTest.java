package outbox.internal;

import org.junit.jupiter.api.Test;
import outbox.OutboxException;
import outbox.fake.FakeConnections;
import outbox.fake.MemoryEventStore;

import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class StoreAccessTest {

    private final FakeConnections connections = new FakeConnections();
    private final StoreAccess access = new StoreAccess(connections, new MemoryEventStore());

    @Test
    void work_is_committed_and_its_connection_given_back() {
        String answer = access.inTransaction("work", connection -> {
            assertThat(connection.getAutoCommit()).isFalse();
            return "done";
        });

        assertThat(answer).isEqualTo("done");
        assertThat(connections.commits()).isEqualTo(1);
        assertThat(connections.open()).isZero();
    }

    @Test
    void work_that_fails_is_not_committed_and_its_connection_is_given_back() {
        assertThatExceptionOfType(OutboxException.class)
                .isThrownBy(() -> access.inTransaction("do it", connection -> {
                    throw new SQLException("broken", "42000");
                }))
                .withMessageContaining("Cannot do it");

        assertThat(connections.commits()).isZero();
        assertThat(connections.open()).isZero();
    }

    @Test
    void a_deadlock_is_tried_again() {
        AtomicInteger tries = new AtomicInteger();

        int answer = access.inTransaction("work", connection -> {
            if (tries.incrementAndGet() < 3) {
                throw new SQLException("deadlock", "40001");
            }
            return tries.get();
        });

        assertThat(answer).isEqualTo(3);
        assertThat(connections.open()).isZero();
    }

    @Test
    void endless_deadlocks_are_told() {
        AtomicInteger tries = new AtomicInteger();

        assertThatExceptionOfType(OutboxException.class)
                .isThrownBy(() -> access.inTransaction("work", connection -> {
                    tries.incrementAndGet();
                    throw new SQLException("deadlock", "40P01");
                }));

        assertThat(tries).hasValue(4);
        assertThat(connections.open()).isZero();
    }

    @Test
    void a_commit_of_unknown_outcome_is_not_repeated() {
        AtomicInteger tries = new AtomicInteger();

        assertThatExceptionOfType(OutboxException.class)
                .isThrownBy(() -> access.inTransaction("work", connection -> {
                    tries.incrementAndGet();
                    throw new SQLException("who knows", "40003");
                }));

        assertThat(tries).hasValue(1);
    }
}
