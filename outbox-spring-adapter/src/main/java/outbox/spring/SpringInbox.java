package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.inbox.Inbox;
import outbox.inbox.InboxAction;
import outbox.inbox.InboxException;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Runs an inbox in Spring's transactions, beginning one if there is none, so that what an action does by way of Spring takes effect with its mark. The inbox must be one that joins the
 * transactions of the given context. Thread-safe.
 */
public final class SpringInbox implements Inbox {

    private static final int MAX_CAUSES = 20; // a chain of causes may be a cycle
    private static final Set<String> OF_THE_ACTION =
            Set.of("40002", "55000", "57014"); // at a commit: constraint, wrong state, took too long

    private final Inbox inbox;
    private final SpringTxContext txContext;
    private final TransactionTemplate transactions;

    public SpringInbox(Inbox inbox, SpringTxContext txContext, PlatformTransactionManager transactionManager) {
        this.inbox = Objects.requireNonNull(inbox, "inbox");
        this.txContext = Objects.requireNonNull(txContext, "txContext");
        this.transactions = new TransactionTemplate(transactionManager);
    }

    @Override
    @SuppressWarnings("unchecked") // what is carried came from the action, which throws nothing else
    public <X extends Exception> boolean handle(
            String consumer, String eventId, @Nullable String eventType, InboxAction<X> action) throws X {
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>(); // by the inbox or its action
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
                    throw new Carried(e); // Spring lets no checked exception through
                }
            }));
        } catch (Carried e) {
            throw (X) e.carried;
        } catch (TransactionException | DataAccessException e) { // which of them a commit throws, the manager decides
            if (e == thrown.get() || isOfAction(e)) {
                throw e;
            }
            throw new InboxException(
                    "Spring's transaction for event " + eventId + " of consumer " + consumer + " failed: "
                            + e.getMessage(),
                    e);
        }
    }

    /** In another transaction than the effect, the mark would be of no use. */
    private void requireSame(Connection connection) {
        if (!txContext.isTransactionActive() || txContext.currentConnection() != connection) {
            throw new InboxException(
                    "The inbox does not join Spring's transaction: give it the same SpringTxContext, and SpringInbox the transaction manager of its data source",
                    null);
        }
    }

    /** Whether the action is why there was no commit: it asked for none, or the database refused what it did, a value or a constraint. */
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

    /** Brings a checked exception through Spring, and rolls back on its way. */
    private static final class Carried extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final Exception carried;

        Carried(Exception carried) {
            super(carried);
            this.carried = carried;
        }
    }
}
