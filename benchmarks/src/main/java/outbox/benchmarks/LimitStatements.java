package outbox.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The statements of raw JDBC: the minimum to write, claim and mark events. */
abstract class LimitStatements {
    private static final String INSERT = """
            INSERT INTO outbox_event (event_id, event_type, aggregate_type, aggregate_id, payload, status, available_at, created_at)
            VALUES (?, 'OrderPlaced', 'Order', ?, ?, 0, current_timestamp(6), current_timestamp(6))
            """;

    final boolean delete;

    private LimitStatements(boolean delete) {
        this.delete = delete;
    }

    static LimitStatements of(Product product, String mark) {
        boolean delete = mark.equals("DELETE");
        return switch (product) {
            case POSTGRESQL -> new Postgres(delete);
            case MARIADB -> new MariaDb(delete);
        };
    }

    final void insert(Connection connection, List<LimitRow> rows) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(INSERT)) {
            for (LimitRow row : rows) {
                insert.setString(1, row.id());
                insert.setString(2, row.aggregateId());
                insert.setString(3, row.payload());
                if (rows.size() == 1) {
                    insert.executeUpdate();
                    return;
                }
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    /** Prepares a connection of the delivery. */
    abstract void prepare(Connection connection) throws SQLException;

    /** Claims up to {@code limit} events with a lease, in the transaction of the connection. */
    abstract List<LimitRow> claim(Connection connection, int limit) throws SQLException;

    /** Marks the events done, or deletes them. */
    abstract void mark(Connection connection, List<String> ids) throws SQLException;

    static List<LimitRow> read(PreparedStatement query) throws SQLException {
        List<LimitRow> rows = new ArrayList<>();
        try (ResultSet results = query.executeQuery()) {
            while (results.next()) {
                rows.add(new LimitRow(results.getString(1), results.getString(2), results.getString(3)));
            }
        }
        return rows;
    }

    private static final class Postgres extends LimitStatements {
        /** Binds: limit. */
        private static final String CLAIM = """
                WITH due AS MATERIALIZED (
                    SELECT event_id
                      FROM outbox_event
                     WHERE status IN (0, 2)
                       AND available_at <= now()
                       AND locked_at IS NULL
                     ORDER BY available_at, created_at
                     LIMIT ?
                       FOR UPDATE SKIP LOCKED
                )
                UPDATE outbox_event AS e
                   SET locked_by = 'limit', locked_at = now()
                  FROM due
                 WHERE e.event_id = due.event_id
                RETURNING e.event_id, e.aggregate_id, e.payload
                """;

        /** Binds: ids. */
        private static final String UPDATE = """
                UPDATE outbox_event
                   SET status = 1, done_at = now(), locked_by = NULL, locked_at = NULL
                 WHERE event_id = ANY (?)
                """;

        /** Binds: ids. */
        private static final String DELETE = """
                DELETE FROM outbox_event
                 WHERE event_id = ANY (?)
                """;

        Postgres(boolean delete) {
            super(delete);
        }

        /**
         * Disables sequential scans. PostgreSQL keeps a plan that was made while the table was small. Such a plan
         * once scanned the table for each of 1,000 ids, and a mark took seconds.
         */
        @Override
        void prepare(Connection connection) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute("SET enable_seqscan = off");
            }
        }

        @Override
        List<LimitRow> claim(Connection connection, int limit) throws SQLException {
            try (PreparedStatement claim = connection.prepareStatement(CLAIM)) {
                claim.setInt(1, limit);
                return read(claim);
            }
        }

        @Override
        void mark(Connection connection, List<String> ids) throws SQLException {
            try (PreparedStatement mark = connection.prepareStatement(delete ? DELETE : UPDATE)) {
                mark.setArray(1, connection.createArrayOf("varchar", ids.toArray()));
                mark.executeUpdate();
            }
        }
    }

    private static final class MariaDb extends LimitStatements {
        /** Binds: limit. */
        private static final String LOCK = """
                SELECT event_id, aggregate_id, payload
                  FROM outbox_event
                 WHERE status = 0
                   AND available_at <= current_timestamp(6)
                   AND locked_at IS NULL
                 ORDER BY available_at, created_at
                 LIMIT ?
                   FOR UPDATE SKIP LOCKED
                """;

        MariaDb(boolean delete) {
            super(delete);
        }

        /** Uses READ COMMITTED, which takes fewer locks and so causes fewer deadlocks with writers. */
        @Override
        void prepare(Connection connection) throws SQLException {
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        }

        @Override
        List<LimitRow> claim(Connection connection, int limit) throws SQLException {
            List<LimitRow> rows;
            try (PreparedStatement lock = connection.prepareStatement(LOCK)) {
                lock.setInt(1, limit);
                rows = read(lock);
            }
            if (!rows.isEmpty()) {
                change(
                        connection,
                        "UPDATE outbox_event SET locked_by = 'limit', locked_at = current_timestamp(6)",
                        rows.stream().map(LimitRow::id).toList());
            }
            return rows;
        }

        @Override
        void mark(Connection connection, List<String> ids) throws SQLException {
            change(
                    connection,
                    delete
                            ? "DELETE FROM outbox_event"
                            : "UPDATE outbox_event SET status = 1, done_at = current_timestamp(6), locked_by = NULL, locked_at = NULL",
                    ids);
        }

        private static void change(Connection connection, String change, List<String> ids) throws SQLException {
            String sql = change + " WHERE event_id IN (" + String.join(",", Collections.nCopies(ids.size(), "?")) + ")";
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                for (int i = 0; i < ids.size(); i++) {
                    statement.setString(i + 1, ids.get(i));
                }
                statement.executeUpdate();
            }
        }
    }
}
