package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.TransactionStateException;
import outbox.relay.TraceContext;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import javax.sql.DataSource;

/**
 * Writes events into tables of the module layout, in the caller's transaction: they exist if it commits, and a relay delivers them. A repeated event id writes nothing and answers the
 * number of the event that is there.
 *
 * <p>Thread-safe; keeps no connection.
 */
public final class OutboxPublisher {

    private static final int TRIES = 3;

    private final DataSource dataSource;
    private final Supplier<@Nullable TraceContext> trace;
    private final Map<String, LayoutEventStore> tables = new ConcurrentHashMap<>(); // as many as the program names

    /** A publisher for tables of the database behind the data source, which only tells what database it is. */
    public OutboxPublisher(DataSource dataSource) {
        this(dataSource, () -> null);
    }

    private OutboxPublisher(DataSource dataSource, Supplier<@Nullable TraceContext> trace) {
        this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
        this.trace = trace;
    }

    /** The same, with the trace of messages that bring none: asked on the thread that writes. Stored where the table has columns for it. */
    public OutboxPublisher withTrace(Supplier<@Nullable TraceContext> trace) {
        return new OutboxPublisher(dataSource, Objects.requireNonNull(trace, "trace"));
    }

    /**
     * Writes into the transaction of the calling thread.
     *
     * @throws TransactionStateException if there is none
     */
    public long enqueue(TxContext transaction, String table, OutboxMessage message) {
        if (!transaction.isTransactionActive()) {
            throw new TransactionStateException(
                    "Event " + message.eventId() + " needs a transaction: it would exist without what it tells of");
        }
        return enqueue(transaction.currentConnection(), table, message);
    }

    /**
     * Writes into the transaction of the given connection, which stays open.
     *
     * @param table with an optional schema, such as {@code public.org_outbox}
     * @return the sequence of the event, or of the one with its id that was there before
     */
    public long enqueue(Connection transaction, String table, OutboxMessage message) {
        LayoutEventStore store =
                tables.computeIfAbsent(table, name -> LayoutEventStore.of(dataSource, TableLayout.module(name)));
        return store.run("write event " + message.eventId(), () -> {
            if (transaction.getAutoCommit()) {
                throw new TransactionStateException("Event " + message.eventId()
                        + " needs a transaction, but the connection is in auto-commit mode");
            }
            return enqueue(transaction, store, message);
        });
    }

    private long enqueue(Connection conn, LayoutEventStore store, OutboxMessage message) throws SQLException {
        for (int tries = 1; ; tries++) {
            OptionalLong sequence = insert(conn, store, message);
            if (sequence.isEmpty()) {
                sequence = find(conn, store, message);
            }
            if (sequence.isPresent()) {
                return sequence.getAsLong();
            }
            if (tries == TRIES) { // each time it was there, and then purged
                throw new EventStoreException(
                        "Event " + message.eventId() + " comes and goes in table " + store.table()
                                + ": is it purged at once?",
                        null);
            }
        }
    }

    /** Empty if the id exists. An error would abort the caller's transaction on PostgreSQL, and an update would write a row for nothing. */
    private OptionalLong insert(Connection conn, LayoutEventStore store, OutboxMessage message) throws SQLException {
        LayoutSql sql = store.sql();
        TableShape shape = store.shape(conn);
        TraceContext context = message.trace() != null ? message.trace() : trace.get();
        List<LayoutColumn> columns = new ArrayList<>(
                List.of(LayoutColumn.TENANT_ID, LayoutColumn.EVENT_TYPE, LayoutColumn.EVENT_ID, LayoutColumn.PAYLOAD));
        if (context != null
                && store.has(shape, LayoutColumn.TRACE_PARENT)
                && store.has(shape, LayoutColumn.TRACE_STATE)) {
            columns.add(LayoutColumn.TRACE_PARENT);
            columns.add(LayoutColumn.TRACE_STATE);
        }
        // Binds: the columns in their order. The times are the defaults of the table.
        String text = "INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING RETURNING %s"
                .formatted(
                        store.sqlName(),
                        String.join(", ", columns.stream().map(sql::column).toList()),
                        String.join(
                                ", ",
                                columns.stream()
                                        .map(column -> sql.parameter(shape, column))
                                        .toList()),
                        sql.column(LayoutColumn.SEQUENCE));
        try (PreparedStatement insert = conn.prepareStatement(text)) {
            Binder binder = new Binder(insert, shape)
                    .text(message.tenantId().toString())
                    .text(message.topic())
                    .text(message.eventId().toString())
                    .text(message.payload());
            if (columns.contains(LayoutColumn.TRACE_PARENT) && context != null) {
                binder.text(context.traceParent()).text(context.traceState());
            }
            return number(insert);
        }
    }

    private static OptionalLong find(Connection conn, LayoutEventStore store, OutboxMessage message)
            throws SQLException {
        LayoutSql sql = store.sql();
        TableShape shape = store.shape(conn);
        // Binds: event_id.
        String text = "SELECT " + sql.column(LayoutColumn.SEQUENCE) + " FROM " + store.sqlName() + " WHERE "
                + sql.column(LayoutColumn.EVENT_ID) + " = " + sql.parameter(shape, LayoutColumn.EVENT_ID);
        try (PreparedStatement select = conn.prepareStatement(text)) {
            new Binder(select, shape).text(message.eventId().toString());
            return number(select);
        }
    }

    private static OptionalLong number(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            return row.next() ? OptionalLong.of(row.getLong(1)) : OptionalLong.empty();
        }
    }
}
