package outbox.spring;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.TransactionDefinition;
import outbox.TransactionStateException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** If an event would not share the outcome of the business change, it is refused before any SQL. */
class RefusalTest {

    private final SpringRig rig = new SpringRig();
    private final SpringRig other = new SpringRig(config -> config.setAutoCommit(false));

    @AfterEach
    void close() {
        rig.close();
        other.close();
    }

    @Test
    void without_a_transaction_a_write_is_refused() {
        assertThat(rig.context.isTransactionActive()).isFalse();
        assertRefused(rig, "transaction");
    }

    @Test
    void without_a_transaction_there_is_neither_connection_nor_callback() {
        assertThatExceptionOfType(TransactionStateException.class).isThrownBy(rig.context::currentConnection);
        assertThatExceptionOfType(TransactionStateException.class).isThrownBy(() -> rig.context.afterCommit(() -> {}));
        assertThatExceptionOfType(TransactionStateException.class)
                .isThrownBy(() -> rig.context.afterRollback(() -> {}));
    }

    @Test
    void in_a_read_only_transaction_a_write_is_refused() {
        rig.tx.setReadOnly(true);

        rig.tx.executeWithoutResult(status -> assertRefused(rig, "read-only"));

        assertThat(rig.stored()).isEmpty();
        assertThat(rig.told).isEmpty();
    }

    @Test
    void a_part_that_joins_a_read_only_transaction_is_read_only() {
        rig.tx.setReadOnly(true);

        rig.tx.executeWithoutResult(status -> rig.tx(TransactionDefinition.PROPAGATION_REQUIRED)
                .executeWithoutResult(inner -> assertRefused(rig, "read-only")));
    }

    @Test
    void a_new_transaction_inside_a_read_only_one_may_write() {
        rig.tx.setReadOnly(true);

        rig.tx.executeWithoutResult(status -> rig.tx(TransactionDefinition.PROPAGATION_REQUIRES_NEW)
                .executeWithoutResult(inner -> rig.write("event")));

        assertThat(rig.told).containsExactly("event");
    }

    @Test
    void in_the_transaction_of_another_data_source_a_write_is_refused() {
        other.tx.executeWithoutResult(status -> {
            assertRefused(rig, "No transaction");
            other.write("other");
        });

        assertThat(rig.stored()).isEmpty();
        assertThat(other.stored()).containsExactly("other");
    }

    @Test
    void a_connection_that_was_only_used_in_the_transaction_of_another_data_source_does_not_make_one() {
        other.tx.executeWithoutResult(status -> {
            new JdbcTemplate(rig.pool).queryForObject("SELECT 1", Integer.class);

            assertRefused(rig, "transaction");
        });

        assertThat(rig.stored()).isEmpty();
    }

    @Test
    void the_same_holds_for_a_pool_with_auto_commit_off() {
        rig.tx.executeWithoutResult(status -> {
            new JdbcTemplate(other.pool).queryForObject("SELECT 1", Integer.class);

            assertRefused(other, "transaction");
        });

        assertThat(other.stored()).isEmpty();
        assertThat(other.told).isEmpty();
    }

    @Test
    void in_transactions_of_both_data_sources_each_event_follows_its_own() {
        rig.tx.executeWithoutResult(one -> {
            rig.write("one");
            other.tx.executeWithoutResult(two -> {
                other.write("two");
                two.setRollbackOnly();
            });
        });

        assertThat(rig.stored()).containsExactly("one");
        assertThat(rig.told).containsExactly("one");
        assertThat(other.stored()).isEmpty();
        assertThat(other.told).isEmpty();
    }

    @Test
    void a_refused_write_leaves_the_transaction_able_to_commit() {
        other.tx.executeWithoutResult(status -> {
            assertThatExceptionOfType(TransactionStateException.class).isThrownBy(() -> rig.write("lost"));
            other.write("kept");
        });

        assertThat(other.stored()).containsExactly("kept");
    }

    private static void assertRefused(SpringRig rig, String words) {
        int busyBefore = rig.pool.getHikariPoolMXBean().getActiveConnections();
        assertThatExceptionOfType(TransactionStateException.class)
                .isThrownBy(() -> rig.write("event"))
                .withMessageContaining(words);
        assertThat(rig.pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(busyBefore);
    }
}
