package outbox.spring;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.DefaultTransactionStatus;
import outbox.inbox.Inbox;
import outbox.inbox.InboxException;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.OutboxSchema;

import java.io.IOException;
import java.sql.SQLException;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class SpringInboxTest {

    private final SpringRig rig = new SpringRig();
    private final JdbcTemplate jdbc = new JdbcTemplate(rig.pool);
    private JdbcInbox joining;
    private Inbox inbox;

    @BeforeEach
    void create() {
        joining = JdbcInbox.builder()
                .connectionProvider(new DataSourceConnectionProvider(rig.pool))
                .txContext(rig.context)
                .build();
        OutboxSchema.createInbox(rig.pool, joining);
        inbox = new SpringInbox(joining, rig.context, rig.manager);
        jdbc.execute("CREATE TABLE effect (event_id VARCHAR(64))");
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void effect() {
        jdbc.update("INSERT INTO effect VALUES ('e1')");
    }

    private int effects() {
        return jdbc.queryForList("SELECT event_id FROM effect").size();
    }

    @Test
    void what_is_done_by_way_of_spring_takes_effect_with_the_mark() {
        assertThat(inbox.handle("billing", "e1", connection -> {
                    effect();
                    rig.write("follow-up");
                }))
                .isTrue();
        assertThat(inbox.handle("billing", "e1", connection -> effect())).isFalse();

        assertThat(effects()).isEqualTo(1);
    }

    @Test
    void a_failure_takes_both_back_and_is_thrown_as_it_is() {
        IOException failure = new IOException("no");

        assertThatThrownBy(() -> inbox.handle("billing", "e1", connection -> {
                    effect();
                    throw failure;
                }))
                .isSameAs(failure);

        assertThat(effects()).isZero();
        assertThat(inbox.handle("billing", "e1", connection -> effect())).isTrue();
    }

    @Test
    void a_failure_that_the_caller_swallows_cannot_be_committed() {
        assertThatThrownBy(() -> rig.tx.executeWithoutResult(status -> {
                    try {
                        inbox.handle("billing", "e1", connection -> {
                            throw new IllegalStateException("no");
                        });
                    } catch (IllegalStateException e) {
                        effect();
                    }
                }))
                .isInstanceOf(RuntimeException.class);

        assertThat(effects()).isZero();
        assertThat(inbox.handle("billing", "e1", connection -> effect())).isTrue();
    }

    @Test
    void an_inbox_with_transactions_of_its_own_is_refused() {
        JdbcInbox alone = JdbcInbox.builder()
                .connectionProvider(new DataSourceConnectionProvider(rig.pool))
                .build();
        Inbox wrong = new SpringInbox(alone, rig.context, rig.manager);

        assertThatThrownBy(() -> wrong.handle("billing", "e1", connection -> effect()))
                .isInstanceOf(InboxException.class)
                .hasMessageContaining("SpringTxContext");
        assertThat(effects()).isZero();
    }

    @Test
    void a_transaction_that_cannot_begin_is_not_the_fault_of_the_event() {
        rig.pool.close();

        assertThatThrownBy(() -> inbox.handle("billing", "e1", connection -> effect()))
                .isInstanceOf(InboxException.class);
    }

    @Test
    void what_the_action_throws_stays_its_own_though_it_is_of_a_transaction() {
        CannotCreateTransactionException failure = new CannotCreateTransactionException("of another database");

        assertThatThrownBy(() -> inbox.handle("billing", "e1", connection -> {
                    throw failure;
                }))
                .isSameAs(failure);
    }

    @Test
    void an_action_that_asked_for_a_rollback_has_failed() {
        assertThatThrownBy(() -> inbox.handle(
                        "billing",
                        "e1",
                        connection -> rig.tx.executeWithoutResult(status -> {
                            effect();
                            status.setRollbackOnly();
                        })))
                .isInstanceOf(UnexpectedRollbackException.class);

        assertThat(effects()).isZero();
        assertThat(inbox.handle("billing", "e1", connection -> effect())).isTrue();
    }

    @Test
    void a_commit_that_fails_is_not_the_fault_of_the_event_whichever_manager_tells_it() {
        PlatformTransactionManager plain = new DataSourceTransactionManager(rig.pool) {
            @Override
            protected void doCommit(DefaultTransactionStatus status) {
                doRollback(status);
                throw translateException("commit", new SQLException("the network is away", "08006"));
            }
        };
        PlatformTransactionManager translating = new JdbcTransactionManager(rig.pool) {
            @Override
            protected void doCommit(DefaultTransactionStatus status) {
                doRollback(status);
                throw translateException("commit", new SQLException("the network is away", "08006"));
            }
        };

        for (PlatformTransactionManager manager : List.of(plain, translating)) {
            Inbox shaky = new SpringInbox(joining, rig.context, manager);

            assertThatThrownBy(() -> shaky.handle("billing", "e1", connection -> effect()))
                    .isInstanceOf(InboxException.class);

            assertThat(effects()).isZero();
        }
    }
}
