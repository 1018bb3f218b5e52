package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.inbox.Inbox;
import outbox.inbox.InboxException;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Runs an inbox in Spring's transactions and begins one if none is active, so that the database work of an action
 * and its inbox mark are committed together. The inbox must join the transactions of the given context. Thread-safe.
 */
public final class SpringInbox implements Inbox {

    private static final int MAX_CAUSES = 20; // a chain of causes may be a cycle
    private static final Set<String> OF_THE_ACTION =
            Set.of("40002", "55000", "57014"); // at a commit: violated constraint, wrong state, query canceled

    private final Inbox inbox;
    private final SpringTxContext txContext;
    private final TransactionTemplate transactions;

    public SpringInbox(Inbox inbox, SpringTxContext txContext, PlatformTransactionManager transactionManager) {
        this.inbox = Objects.requireNonNull(inbox, "inbox");
        this.txContext = Objects.requireNonNull(txContext, "txContext");
        this.transactions = new TransactionTemplate(transactionManager);
    }

    @Override
    @SuppressWarnings("unchecked") // the carried exception came from the action, which declares X
    public <X extends Exception> boolean handle(
            String consumer, String eventId, @Nullable String eventType, Inbox.Action<X> action) throws X {
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>(); // thrown by the inbox or its action
        try {
            return Boolean.TRUE.equals(transactions.execute(status -> {
                try {
                    return inbox.<X>handle(consumer, eventId, eventType, connection -> {
                        requireSame(connection);
                        action.run(connection);
                    });
                } catch (RuntimeException e) {
                    thrown.set(e);
                    throw e;
                } catch (Exception e) {
                    throw new Carried(e); // a TransactionCallback cannot throw a checked exception
                }
            }));
        } catch (Carried e) {
            throw (X) e.carried;
        } catch (TransactionException | DataAccessException e) { // a commit throws either, depending on the manager
            if (e == thrown.get() || isOfAction(e)) {
                throw e;
            }
            throw new InboxException(
                    "Spring's transaction for event " + eventId + " of consumer " + consumer + " failed: "
                            + e.getMessage(),
                    e);
        }
    }

    /** Throws if the mark would be written in another transaction than the work of the action. */
    private void requireSame(Connection connection) {
        if (!txContext.isTransactionActive() || txContext.currentConnection() != connection) {
            throw new InboxException(
                    "The inbox does not join Spring's transaction: give it the same SpringTxContext, and"
                            + " SpringInbox the transaction manager of its data source",
                    null);
        }
    }

    /**
     * Whether the action caused the missing commit: it asked for a rollback, or the database refused a value or
     * reported a violated constraint.
     */
    private static boolean isOfAction(RuntimeException error) {
        if (error instanceof UnexpectedRollbackException) {
            return true;
        }
        Throwable cause = error;
        for (int i = 0; i < MAX_CAUSES && cause != null; i++, cause = cause.getCause()) {
            if (cause instanceof SQLException sql && sql.getSQLState() != null) {
                String state = sql.getSQLState();
                return state.startsWith("22") || state.startsWith("23") || OF_THE_ACTION.contains(state);
            }
        }
        return false;
    }

    /** Carries a checked exception through Spring and makes Spring roll back. */
    private static final class Carried extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final Exception carried;

        Carried(Exception carried) {
            super(carried);
            this.carried = carried;
        }
    }
}
