package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.TraceContext;
import outbox.TransactionStateException;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.spi.MetricsExporter;
import outbox.spi.TxContext;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Writes events into tables of the module layout, in the caller's transaction. If it commits, a relay delivers them.
 * A repeated event id writes nothing and returns the number of the existing event.
 *
 * <p>Thread-safe. Keeps no connection.
 */
public final class OutboxPublisher {

    private static final Logger LOG = SafeLogger.of(OutboxPublisher.class);
    private static final int TRIES = 3;

    private final Supplier<@Nullable TraceContext> trace;
    private final Map<String, MetricsExporter> exporters; // by table
    // one entry per table that the program uses
    private final Map<String, LayoutEventStore> tables = new ConcurrentHashMap<>();
    private final Map<String, Boolean> partitioned = new ConcurrentHashMap<>(); // by table; queried once

    public OutboxPublisher() {
        this(() -> null, Map.of());
    }

    private OutboxPublisher(Supplier<@Nullable TraceContext> trace, Map<String, MetricsExporter> exporters) {
        this.trace = trace;
        this.exporters = exporters;
    }

    /**
     * Returns a publisher that gets the trace from this supplier for messages without one. The supplier runs on the
     * thread that writes. The trace is stored if the table has the columns for it.
     */
    public OutboxPublisher withTrace(Supplier<@Nullable TraceContext> trace) {
        return new OutboxPublisher(Objects.requireNonNull(trace, "trace"), exporters);
    }

    /**
     * Returns a publisher that reports each committed event of the table to the exporter; see
     * {@link MetricsExporter#recordEnqueued}. Call it once for each table to count.
     *
     * <p>Only events that are written with a {@link TxContext} are counted, because a plain connection does not
     * report its commit.
     *
     * @param table the table name that is used for writing
     */
    public OutboxPublisher countedBy(String table, MetricsExporter exporter) {
        Map<String, MetricsExporter> all = new HashMap<>(exporters);
        all.put(new TableName(table).value(), Objects.requireNonNull(exporter, "exporter"));
        return new OutboxPublisher(trace, Map.copyOf(all));
    }

    /**
     * Writes an event in the transaction of the calling thread.
     *
     * @throws TransactionStateException if there is no transaction
     */
    public long enqueue(TxContext transaction, String table, OutboxMessage message) {
        if (!transaction.isTransactionActive()) {
            throw new TransactionStateException(
                    "Event " + message.eventId() + " needs a transaction: it would exist without what it tells of");
        }
        Written written = write(transaction.currentConnection(), table, message);
        MetricsExporter exporter = exporters.get(table);
        if (exporter != null && written.isNew()) {
            transaction.afterCommit(() -> count(exporter, message));
        }
        return written.sequence();
    }

    /**
     * Reports an event to the exporter. An exception of the exporter is not thrown, because the transaction
     * has committed.
     */
    private static void count(MetricsExporter exporter, OutboxMessage message) {
        try {
            exporter.recordEnqueued(message.topic());
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "An event that was written could not be counted", e);
        }
    }

    /**
     * Writes an event in the transaction of the given connection, which stays open. Such events are
     * not {@link #countedBy counted}.
     *
     * @param table with an optional schema, such as {@code public.org_outbox}
     * @return the sequence number of the event, or of the existing event with the same id
     */
    public long enqueue(Connection transaction, String table, OutboxMessage message) {
        return write(transaction, table, message).sequence();
    }

    /** The number of an event, and whether this call wrote it. */
    private record Written(long sequence, boolean isNew) {}

    private Written write(Connection transaction, String table, OutboxMessage message) {
        LayoutEventStore store = store(transaction, table);
        return store.run("write event " + message.eventId(), () -> {
            if (transaction.getAutoCommit()) {
                throw new TransactionStateException("Event " + message.eventId()
                        + " needs a transaction, but the connection is in auto-commit mode");
            }
            return write(transaction, store, message);
        });
    }

    private LayoutEventStore store(Connection transaction, String table) {
        LayoutEventStore known = tables.get(table);
        if (known != null) {
            return known;
        }
        try {
            LayoutEventStore store = LayoutEventStore.of(transaction, TableLayout.module(table));
            if (!store.sql().isPostgres()) {
                throw new EventStoreException(
                        "Tables of layout '" + TableLayout.MODULE + "' are written on PostgreSQL only, not on "
                                + store.dialect().name(),
                        null);
            }
            tables.put(table, store);
            return store;
        } catch (SQLException e) {
            throw new EventStoreException("Cannot ask the connection what database it is: " + e.getMessage(), e);
        }
    }

    private Written write(Connection conn, LayoutEventStore store, OutboxMessage message) throws SQLException {
        for (int tries = 1; ; tries++) {
            OptionalLong there = isPartitioned(conn, store) ? findLocked(conn, store, message) : OptionalLong.empty();
            if (there.isEmpty()) {
                OptionalLong written = insert(conn, store, message);
                if (written.isPresent()) {
                    return new Written(written.getAsLong(), true);
                }
                there = find(conn, store, message);
            }
            if (there.isPresent()) {
                return new Written(there.getAsLong(), false);
            }
            if (tries == TRIES) { // each time the event existed and was then purged
                throw new EventStoreException(
                        "Event " + message.eventId() + " comes and goes in table " + store.table()
                                + ": is it purged at once?",
                        null);
            }
        }
    }

    /**
     * Inserts the event. Returns empty if the id exists. An error would abort the caller's transaction on
     * PostgreSQL, and an update would write a useless row version.
     */
    private OptionalLong insert(Connection conn, LayoutEventStore store, OutboxMessage message) throws SQLException {
        TableColumns shape = store.shape(conn);
        TraceContext context = message.trace() != null ? message.trace() : currentTrace();
        List<LayoutColumn> columns = new ArrayList<>(
                List.of(LayoutColumn.TENANT_ID, LayoutColumn.EVENT_TYPE, LayoutColumn.EVENT_ID, LayoutColumn.PAYLOAD));
        if (context != null
                && store.has(shape, LayoutColumn.TRACE_PARENT)
                && store.has(shape, LayoutColumn.TRACE_STATE)) {
            columns.add(LayoutColumn.TRACE_PARENT);
            columns.add(LayoutColumn.TRACE_STATE);
        }
        // Binds: the columns in their order. The times are the defaults of the table.
        String text = shape.text("publish " + columns.size(), () -> insertText(store, shape, columns));
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

    private static String insertText(LayoutEventStore store, TableColumns shape, List<LayoutColumn> columns) {
        LayoutSql sql = store.sql();
        return "INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING RETURNING %s"
                .formatted(
                        store.sqlName(),
                        columns.stream().map(sql::column).collect(Collectors.joining(", ")),
                        columns.stream()
                                .map(column -> sql.parameter(shape, column))
                                .collect(Collectors.joining(", ")),
                        sql.column(LayoutColumn.SEQUENCE));
    }

    /** Returns the current trace. An exception of the tracer must not fail the business transaction. */
    private @Nullable TraceContext currentTrace() {
        try {
            return trace.get();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "The trace of an event cannot be told; it is written without", e);
            return null;
        }
    }

    private static OptionalLong find(Connection conn, LayoutEventStore store, OutboxMessage message)
            throws SQLException {
        LayoutSql sql = store.sql();
        TableColumns shape = store.shape(conn);
        // Binds: event_id.
        String text = "SELECT " + sql.column(LayoutColumn.SEQUENCE) + " FROM " + store.sqlName() + " WHERE "
                + sql.column(LayoutColumn.EVENT_ID) + " = " + sql.parameter(shape, LayoutColumn.EVENT_ID);
        try (PreparedStatement select = conn.prepareStatement(text)) {
            new Binder(select, shape).text(message.eventId().toString());
            return number(select);
        }
    }

    /**
     * Finds an event in a partitioned table. The id alone is not unique there, so writers of the same id wait for
     * each other and search first. This needs READ COMMITTED; otherwise they may not see each other's rows.
     */
    private static OptionalLong findLocked(Connection conn, LayoutEventStore store, OutboxMessage message)
            throws SQLException {
        // Binds: the lock key.
        try (PreparedStatement lock = conn.prepareStatement("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))")) {
            lock.setString(1, "outbox:" + store.table() + ":" + message.eventId());
            lock.executeQuery().close();
        }
        return find(conn, store, message);
    }

    private boolean isPartitioned(Connection conn, LayoutEventStore store) throws SQLException {
        Boolean known = partitioned.get(store.tableName());
        if (known == null) {
            // Binds: table.
            try (PreparedStatement select = conn.prepareStatement(
                    "SELECT EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass(?) AND relkind = 'p')")) {
                select.setString(1, store.sqlName());
                try (ResultSet row = select.executeQuery()) {
                    known = row.next() && row.getBoolean(1);
                }
            }
            partitioned.put(store.tableName(), known);
        }
        return known;
    }

    private static OptionalLong number(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            return row.next() ? OptionalLong.of(row.getLong(1)) : OptionalLong.empty();
        }
    }
}
