package outbox.testing.internal;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/** One-line SQL for tests of the harness. */
public final class Sql {
    private Sql() {}

    public static Connection connect(String url) throws SQLException {
        return DriverManager.getConnection(url);
    }

    public static void update(String url, String... statements) throws SQLException {
        try (var connection = connect(url)) {
            for (var sql : statements) {
                update(connection, sql);
            }
        }
    }

    public static void update(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    /** The number in the first column of the first row. */
    public static int number(String url, String sql) throws SQLException {
        try (var connection = connect(url)) {
            return number(connection, sql);
        }
    }

    public static int number(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            result.next();
            return result.getInt(1);
        }
    }
}
