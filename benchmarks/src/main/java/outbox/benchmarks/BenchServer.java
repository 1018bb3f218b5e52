package outbox.benchmarks;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A server of our own that syncs every commit to disk. */
abstract class BenchServer implements AutoCloseable {
    private final AtomicInteger databases = new AtomicInteger();

    static BenchServer start(Product product) throws SQLException {
        return switch (product) {
            case POSTGRESQL -> new PostgresBenchServer();
            case MARIADB -> new MariaDbBenchServer();
        };
    }

    abstract Product product();

    /** The URL of a database, which need not exist yet. */
    abstract String url(String database);

    /** The URL of the database that is always there. */
    abstract String adminUrl();

    /** The settings that differ from the product's own defaults, in a line. */
    abstract String settings();

    /** What the server did for a database so far. */
    abstract ServerCounters counters(String database) throws SQLException;

    /** The statements that took the server most of its time in a database, a line for each; empty if it does not know. */
    List<String> busiest(String database) throws SQLException {
        return List.of();
    }

    /** Waits until nobody is connected to a database, and so everybody has told what he did. */
    abstract void awaitDisconnected(String database) throws SQLException;

    /** Writes what is dirty to disk, so that no measurement pays for the one before it. */
    abstract void settle() throws SQLException;

    /** Makes the planner know the tables of a database. */
    abstract void analyze(String database) throws SQLException;

    abstract void dropDatabase(String database) throws SQLException;

    final String createDatabase() throws SQLException {
        String name = "bench_" + databases.incrementAndGet();
        execute(adminUrl(), "CREATE DATABASE " + name);
        return name;
    }

    final String version() throws SQLException {
        try (Connection connection = DriverManager.getConnection(adminUrl())) {
            return connection.getMetaData().getDatabaseProductVersion();
        }
    }

    static void execute(String url, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    final long queryNumber(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(adminUrl());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @Override
    public abstract void close();
}
