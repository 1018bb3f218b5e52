package outbox.jdbc;

import outbox.jdbc.Dialect.Binding;
import outbox.jdbc.internal.tx.TxScope;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * An INSERT on PostgreSQL. An error would abort the caller's transaction, so a row that exists is skipped, and its
 * id is missing in the result. For ids that cannot exist, this would only cost time.
 *
 * <p>A transaction of {@link JdbcTransactionManager} knows its savepoints. In other transactions, each row returns
 * whether the main transaction or a subtransaction wrote it. A savepoint starts a subtransaction, which has its own
 * transaction id.
 */
final class PostgresInsert {

    private final JdbcTable table;
    private final Connection conn;
    private final List<String> eventIds;
    private final Binding binding;

    PostgresInsert(JdbcTable table, Connection conn, List<String> eventIds, Binding binding) {
        this.table = table;
        this.conn = conn;
        this.eventIds = eventIds;
        this.binding = binding;
    }

    boolean insert(String sql, boolean fresh) throws SQLException {
        boolean tells = TxScope.of(conn) == null && table.shape(conn).tellsWriters();
        if (fresh) {
            return insertFresh(tells ? returning(sql, " RETURNING ") : sql);
        }
        boolean one = eventIds.size() == 1;
        String with = one ? " RETURNING " + table.idColumn() + ", " : ", ";
        return insertGiven(tells ? returning(sql, with) : sql, tells, one && !tells);
    }

    private boolean insertFresh(String sql) throws SQLException {
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            binding.bind(insert);
            if (!insert.execute()) {
                return false;
            }
            int lasting = 0;
            try (ResultSet rows = insert.getResultSet()) {
                while (rows.next()) {
                    lasting += rows.getBoolean(1) ? 1 : 0;
                }
            }
            return lasting == eventIds.size();
        } catch (SQLException e) {
            if (table.dialect().isDuplicateKey(e)) { // the aborted transaction cannot find out which event it was
                throw Dialect.duplicate(table, eventIds, e);
            }
            throw e;
        }
    }

    /** @param counts whether the row count is enough, which is cheaper than returning the id */
    private boolean insertGiven(String sql, boolean tells, boolean counts) throws SQLException {
        List<String> inserted = new ArrayList<>();
        boolean lasting = tells;
        try (PreparedStatement insert = conn.prepareStatement(sql)) {
            binding.bind(insert);
            if (counts) {
                if (insert.executeUpdate() == 1) {
                    return false;
                }
            } else {
                try (ResultSet rows = insert.executeQuery()) {
                    while (rows.next()) {
                        inserted.add(rows.getString(1));
                        lasting &= tells && rows.getBoolean(2);
                    }
                }
            }
        }
        if (inserted.size() < eventIds.size()) {
            table.delete(conn, inserted);
            List<String> missing = Dialect.missing(eventIds, inserted);
            // if none is missing, the list contained an id twice
            throw Dialect.duplicate(table, missing.isEmpty() ? eventIds : missing, null);
        }
        return lasting;
    }

    private record Returning(String sql) {}

    /**
     * Also returns whether the main transaction wrote the row. A row stores the lower 32 bits of the transaction id.
     */
    private String returning(String sql, String with) throws SQLException {
        return eventIds.size() == 1
                ? table.shape(conn).text(new Returning(sql), () -> makeReturning(sql, with))
                : makeReturning(sql, with);
    }

    private static String makeReturning(String sql, String with) {
        return sql.stripTrailing() + with + "xmin::text = (txid_current() & 4294967295)::text";
    }
}
