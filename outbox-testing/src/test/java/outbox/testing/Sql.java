package outbox.testing;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/** One-line SQL for tests of the harness. */
final class Sql {
    private Sql() {}

    static Connection connect(String url) throws SQLException {
        return DriverManager.getConnection(url);
    }

    static void update(String url, String... statements) throws SQLException {
        try (var connection = connect(url)) {
            for (var sql : statements) {
                update(connection, sql);
            }
        }
    }

    static void update(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    /** The number in the first column of the first row. */
    static int number(String url, String sql) throws SQLException {
        try (var connection = connect(url)) {
            return number(connection, sql);
        }
    }

    static int number(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            result.next();
            return result.getInt(1);
        }
    }
}
