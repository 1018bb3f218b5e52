package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.TransactionStateException;
import outbox.inbox.Inbox;
import outbox.inbox.InboxAction;
import outbox.inbox.InboxException;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.spi.ConnectionProvider;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * An inbox in a table, on H2, PostgreSQL, MySQL and MariaDB. {@link OutboxSchema#createInbox} creates the table.
 *
 * <p>The mark is inserted before the action runs, so that of several copies one holds the key and the others wait for its transaction. They wait at most half a minute on PostgreSQL, and
 * as long as a lock may be waited for elsewhere; then an {@link InboxException} says that the event is to come again. A mark that lost against another transaction is tried again, unless
 * the transaction is the caller's.
 */
public final class JdbcInbox implements Inbox {

    private static final int MAX_TRIES = 10; // of a mark: each time at least one of those in a deadlock gets on
    private static final int PURGE_BATCH = 1000;
    private static final Set<String> H2_LOCKED = Set.of("HYT00", "90131");
    private static final Set<String> OF_THE_ACTION =
            Set.of("40002", "55000", "57014"); // at a commit: constraint, wrong state, took too long

    private final InboxTable table;
    private final @Nullable TxContext txContext;
    private final ThreadLocalTxContext ownContext; // the same, if transactions that we begin can be seen in it
    private final JdbcTransactionManager transactions;
    private final @Nullable Duration redeliveryWindow;

    private JdbcInbox(Builder builder) {
        if (builder.connectionProvider == null) {
            throw new IllegalArgumentException("connectionProvider is required");
        }
        String name = builder.table == null ? builder.layout.defaultTable() : builder.table;
        table = new InboxTable(new TableName(name), builder.layout);
        txContext = builder.txContext;
        ownContext = txContext instanceof ThreadLocalTxContext seen ? seen : new ThreadLocalTxContext();
        transactions = new JdbcTransactionManager(builder.connectionProvider, ownContext);
        redeliveryWindow = builder.redeliveryWindow;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** The table that it lives in. */
    public TableName table() {
        return table.name();
    }

    public InboxLayout layout() {
        return table.layout();
    }

    /**
     * Looks whether it can remember what a consumer of this name handles, so that this is known before the first event.
     *
     * @throws IllegalArgumentException if it cannot
     */
    public void checkConsumer(String consumer) {
        InboxEntry.checkConsumer(table.layout(), consumer);
    }

    @Override
    public <X extends Exception> boolean handle(
            String consumer, String eventId, @Nullable String eventType, InboxAction<X> action) throws X {
        InboxEntry entry = InboxEntry.of(table.layout(), consumer, eventId, eventType);
        Objects.requireNonNull(action, "action");
        if (txContext != null && txContext.isTransactionActive()) {
            return handleIn(txContext, entry, action, false);
        }
        if (ownContext.isTransactionActive()) { // called by an action
            return handleIn(ownContext, entry, action, false);
        }
        try {
            return handleAlone(entry, action);
        } finally {
            ownContext.abandonLeft("The action of " + entry);
        }
    }

    private <X extends Exception> boolean handleAlone(InboxEntry entry, InboxAction<X> action) throws X {
        for (int tries = 1; ; tries++) {
            try (Transaction tx = begin()) {
                if (!handleIn(ownContext, entry, action, true)) {
                    return false;
                }
                commit(tx, entry);
                return true;
            } catch (MarkFailedException e) {
                if (tries == MAX_TRIES || e.isOfAction() || !e.isLost()) {
                    throw e;
                }
            }
        }
    }

    private Transaction begin() {
        try {
            return transactions.begin();
        } catch (EventStoreException e) {
            throw new InboxException("Cannot begin a transaction for table " + table.name() + ": " + e.getMessage(), e);
        }
    }

    /** What may pass by itself says nothing about the event; a refusal is one of what the action did. */
    private void commit(Transaction tx, InboxEntry entry) {
        try {
            tx.commit();
        } catch (CommitOutcomeUnknownException e) {
            throw new InboxException("Nobody knows whether " + entry + " was handled: " + e.getMessage(), e);
        } catch (EventStoreException e) {
            if (e.getCause() instanceof SQLException sql
                    && SqlStates.isPassing(sql)
                    && !OF_THE_ACTION.contains(SqlStates.of(sql))) {
                throw new InboxException("What was done for " + entry + " was rolled back: " + e.getMessage(), e);
            }
            throw e;
        }
    }

    private <X extends Exception> boolean handleIn(
            TxContext context, InboxEntry entry, InboxAction<X> action, boolean isAlone) throws X {
        Connection connection = context.currentConnection();
        Mark mark = new Mark(connection, entry);
        if (!context.beforeCommit(mark::check)) {
            throw new TransactionStateException("The transaction of " + entry
                    + " is about to commit, or cannot be checked before it does, so the inbox cannot join it");
        }
        if (!mark.insert(isAlone)) {
            return false;
        }
        try {
            action.run(connection);
        } catch (MarkFailedException e) {
            e.passedAction(); // of another event: our action has run, and is not to be run again by us
            throw e;
        }
        mark.done();
        return true;
    }

    /**
     * Forgets events that were handled longer ago than the given age, by the database's clock, a thousand per transaction.
     *
     * @return how many
     * @throws IllegalArgumentException if the age is less than the {@link Builder#redeliveryWindow}
     * @throws IllegalStateException if there is no redelivery window
     */
    public long purge(Duration age) {
        return purge(age, () -> false);
    }

    /** The same, but ends after the transaction under way once it is to stop. */
    public long purge(Duration age, BooleanSupplier isStopping) {
        Duration window = redeliveryWindow;
        if (window == null) {
            throw new IllegalStateException(
                    "Set redeliveryWindow, the longest time after which an event may come again: one that comes after its mark was purged takes effect twice");
        }
        if (age.compareTo(window) < 0) {
            throw new IllegalArgumentException("Marks of the last " + window
                    + " must stay, since events may come again that late (redeliveryWindow): " + age);
        }
        long deleted = 0;
        Instant end = null;
        int count;
        do {
            try (Transaction tx = begin()) {
                if (end == null) {
                    end = table.now(tx.connection()).minus(age);
                }
                count = table.deleteBefore(tx.connection(), end, PURGE_BATCH);
                tx.commit();
                deleted += count;
            } catch (SQLException | EventStoreException | CommitOutcomeUnknownException e) {
                throw new InboxException("Cannot purge table " + table.name() + ": " + e.getMessage(), e);
            }
        } while (count == PURGE_BATCH && !isStopping.getAsBoolean());
        return deleted;
    }

    /** The mark could not be written, so its action did not run. */
    private static final class MarkFailedException extends InboxException {

        private static final long serialVersionUID = 1L;

        private boolean isOfAction; // thread of the call only

        MarkFailedException(String message, SQLException cause) {
            super(message, cause);
        }

        void passedAction() {
            isOfAction = true;
        }

        /** Whether an action threw it, which handled another event. */
        boolean isOfAction() {
            return isOfAction;
        }

        /** Whether it lost against another transaction. A lock that was waited for to the end is not waited for again. */
        boolean isLost() {
            String state = getCause() instanceof SQLException sql ? SqlStates.of(sql) : "";
            return state.startsWith("40") && !state.equals("40003") || H2_LOCKED.contains(state);
        }
    }

    /** The mark of one event in one transaction, used by its thread. */
    private final class Mark {

        private final Connection connection;
        private final InboxEntry entry;
        private @Nullable String savepoint;
        private State state = State.ABSENT;

        private enum State {
            ABSENT,
            /** The action has not ended, or it failed. */
            INSERTED,
            DONE
        }

        Mark(Connection connection, InboxEntry entry) {
            this.connection = connection;
            this.entry = entry;
        }

        boolean insert(boolean isAlone) {
            try {
                if (!table.insert(connection, entry)) {
                    return false;
                }
                state = State.INSERTED;
                if (isAlone) {
                    savepoint = table.watch(connection);
                }
                return true;
            } catch (SQLException e) {
                throw new MarkFailedException(
                        "Cannot mark " + entry + " in table " + table.name() + ": " + e.getMessage(), e);
            } catch (EventStoreException | IllegalArgumentException e) { // a table or database of the wrong kind
                throw new InboxException("Cannot mark " + entry + ": " + e.getMessage(), e);
            }
        }

        void done() {
            state = State.DONE;
        }

        /** A caller may have swallowed the failure of the action; the mark must not outlive it. */
        void check() {
            if (state == State.INSERTED) {
                throw new OutboxException(
                        "The action of " + entry + " failed, so its transaction can only be rolled back", null);
            }
            if (state == State.DONE) {
                table.requireMark(connection, entry, savepoint);
            }
        }
    }

    /** Collects the settings of an inbox; every setter refuses a wrong value. Not thread-safe. */
    public static final class Builder {

        private @Nullable ConnectionProvider connectionProvider;
        private @Nullable TxContext txContext;
        private InboxLayout layout = InboxLayout.INBOX;
        private @Nullable String table;
        private @Nullable Duration redeliveryWindow;

        private Builder() {}

        /** Required: connections for transactions of its own. */
        public Builder connectionProvider(ConnectionProvider connectionProvider) {
            this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
            return this;
        }

        /**
         * The transactions that it joins; default: none. In those that it begins itself, a writer with the same {@link ThreadLocalTxContext} can write events; with another context only
         * those can that are joined.
         */
        public Builder txContext(TxContext txContext) {
            this.txContext = Objects.requireNonNull(txContext, "txContext");
            return this;
        }

        /** What kind of table it is; default {@link InboxLayout#INBOX}. */
        public Builder layout(InboxLayout layout) {
            this.layout = Objects.requireNonNull(layout, "layout");
            return this;
        }

        /** The table; default {@code outbox_inbox}, or {@code event_consume_log} for that layout. */
        public Builder table(String table) {
            this.table = new TableName(table).value();
            return this;
        }

        /**
         * The longest time after an event was handled in which a copy may still come; needed for {@link JdbcInbox#purge}. It is the longest of what keeps copies: the time for which the
         * sender retries and may replay, messages wait in queues and dead-letter queues, and backups are restored from.
         */
        public Builder redeliveryWindow(Duration redeliveryWindow) {
            if (redeliveryWindow.isNegative() || redeliveryWindow.isZero()) {
                throw new IllegalArgumentException("redeliveryWindow must be positive: " + redeliveryWindow);
            }
            this.redeliveryWindow = redeliveryWindow;
            return this;
        }

        public JdbcInbox build() {
            return new JdbcInbox(this);
        }
    }
}
