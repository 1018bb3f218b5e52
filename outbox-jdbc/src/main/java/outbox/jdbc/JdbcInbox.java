package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.TransactionStateException;
import outbox.inbox.Inbox;
import outbox.inbox.InboxException;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.jdbc.internal.sql.SqlStates;
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
 * <p>The mark is inserted before the action runs. If several copies of an event arrive at the same time, one
 * transaction holds the key and the others wait for it. The wait is limited to 30 seconds on PostgreSQL and to the
 * lock timeout on other databases. After that, an {@link InboxException} reports that the event must be delivered
 * again. An insert of a mark that failed because of a conflict with another transaction is repeated, unless the
 * transaction belongs to the caller.
 */
public final class JdbcInbox implements Inbox {

    private static final int MAX_TRIES = 10; // of a mark; each deadlock lets at least one transaction continue
    private static final int PURGE_BATCH = 1000;
    private static final Set<String> H2_LOCKED = Set.of("HYT00", "90131");
    // SQLStates at a commit that the action caused: constraint, wrong state, timeout
    private static final Set<String> OF_THE_ACTION = Set.of("40002", "55000", "57014");

    private final InboxTable table;
    private final @Nullable TxContext txContext;
    // The same object as txContext if that is a ThreadLocalTxContext.
    private final ThreadLocalTxContext ownContext;
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

    /** Returns the table of this inbox. */
    public TableName table() {
        return table.name();
    }

    public InboxLayout layout() {
        return table.layout();
    }

    /**
     * Checks whether the inbox can store entries of a consumer with this name, so that a problem is reported before
     * the first event.
     *
     * @throws IllegalArgumentException if it cannot
     */
    public void checkConsumer(String consumer) {
        InboxEntry.checkConsumer(table.layout(), consumer);
    }

    @Override
    public <X extends Exception> boolean handle(
            String consumer, String eventId, @Nullable String eventType, Inbox.Action<X> action) throws X {
        InboxEntry entry = InboxEntry.of(table.layout(), consumer, eventId, eventType);
        Objects.requireNonNull(action, "action");
        if (txContext != null && txContext.isTransactionActive()) {
            return handleIn(txContext, entry, action, false);
        }
        if (ownContext.isTransactionActive()) { // the call comes from an action
            return handleIn(ownContext, entry, action, false);
        }
        try {
            return handleAlone(entry, action);
        } finally {
            ownContext.abandonLeft("The action of " + entry);
        }
    }

    private <X extends Exception> boolean handleAlone(InboxEntry entry, Inbox.Action<X> action) throws X {
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

    /**
     * Commits. A temporary error says nothing about the event. A refusal was caused by the statements of the action.
     */
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
            TxContext context, InboxEntry entry, Inbox.Action<X> action, boolean isAlone) throws X {
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
            // the failed mark is that of another event; our action has run and must not be repeated
            e.passedAction();
            throw e;
        }
        mark.done();
        return true;
    }

    /**
     * Deletes entries of events that were handled longer ago than the given age, by the clock of the database, in
     * transactions of a thousand rows.
     *
     * @return the number of deleted entries
     * @throws IllegalArgumentException if the age is less than the {@link Builder#redeliveryWindow}
     * @throws IllegalStateException if there is no redelivery window
     */
    public long purge(Duration age) {
        return purge(age, () -> false);
    }

    /**
     * Like {@link #purge(Duration)}, but stops after the current transaction when {@code isStopping} returns true.
     */
    public long purge(Duration age, BooleanSupplier isStopping) {
        Duration window = redeliveryWindow;
        if (window == null) {
            throw new IllegalStateException(
                    "Set redeliveryWindow, the longest time after which an event may come again: one that comes "
                            + "after its mark was purged takes effect twice");
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

    /** The mark could not be inserted, so its action did not run. */
    private static final class MarkFailedException extends InboxException {

        private static final long serialVersionUID = 1L;

        private boolean isOfAction; // used only by the calling thread

        MarkFailedException(String message, SQLException cause) {
            super(message, cause);
        }

        void passedAction() {
            isOfAction = true;
        }

        /** Whether the exception came from an action that tried to handle another event. */
        boolean isOfAction() {
            return isOfAction;
        }

        /**
         * Whether the cause is a conflict with another transaction. After a lock timeout the insert is
         * not repeated, except on H2.
         */
        boolean isLost() {
            String state = getCause() instanceof SQLException sql ? SqlStates.of(sql) : "";
            return state.startsWith("40") && !state.equals("40003") || H2_LOCKED.contains(state);
        }
    }

    /** The mark of one event in one transaction. Used by one thread. */
    private final class Mark {

        private final Connection connection;
        private final InboxEntry entry;
        private @Nullable String savepoint;
        private State state = State.ABSENT;

        private enum State {
            ABSENT,
            /** The action is running or has failed. */
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

        /**
         * Refuses the commit if the action failed, because a caller may have caught its exception. The mark must not
         * be committed without the effect of the action.
         */
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

    /** Collects the settings of an inbox. Every setter refuses an invalid value. Not thread-safe. */
    public static final class Builder {

        private @Nullable ConnectionProvider connectionProvider;
        private @Nullable TxContext txContext;
        private InboxLayout layout = InboxLayout.INBOX;
        private @Nullable String table;
        private @Nullable Duration redeliveryWindow;

        private Builder() {}

        /** Provides connections for the transactions that the inbox begins. Required. */
        public Builder connectionProvider(ConnectionProvider connectionProvider) {
            this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
            return this;
        }

        /**
         * The transactions that the inbox joins; default: none. If this is a {@link ThreadLocalTxContext}, a writer
         * with the same context can also write events in the transactions that the inbox begins. With any other
         * context, events can be written only in joined transactions.
         */
        public Builder txContext(TxContext txContext) {
            this.txContext = Objects.requireNonNull(txContext, "txContext");
            return this;
        }

        /** The layout of the table; default {@link InboxLayout#INBOX}. */
        public Builder layout(InboxLayout layout) {
            this.layout = Objects.requireNonNull(layout, "layout");
            return this;
        }

        /** The table name; default {@code outbox_inbox}, or {@code event_consume_log} for that layout. */
        public Builder table(String table) {
            this.table = new TableName(table).value();
            return this;
        }

        /**
         * The longest time after which a copy of a handled event may still arrive; required for
         * {@link JdbcInbox#purge}. Use the longest of these: how long the sender retries and may replay, how long
         * messages stay in queues and dead-letter queues, and the age of backups that may be restored.
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
