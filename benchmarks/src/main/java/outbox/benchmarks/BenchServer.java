package outbox.benchmarks;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A private database server that syncs every commit to disk. */
abstract class BenchServer implements AutoCloseable {
    private final AtomicInteger databases = new AtomicInteger();

    static BenchServer start(Product product) throws SQLException {
        return switch (product) {
            case POSTGRESQL -> new PostgresBenchServer();
            case MARIADB -> new MariaDbBenchServer();
        };
    }

    abstract Product product();

    /** Returns the URL of a database, which need not exist yet. */
    abstract String url(String database);

    /** Returns the URL of the database that always exists. */
    abstract String adminUrl();

    /** Describes the settings that differ from the defaults of the product, in one line. */
    abstract String settings();

    /** Returns the work that the server has done for a database so far. */
    abstract ServerCounters counters(String database) throws SQLException;

    /**
     * Returns the statements with the largest total time in a database, one line each; empty if the server does not
     * record them.
     */
    List<String> busiest(String database) throws SQLException {
        return List.of();
    }

    /** Waits until no session is connected to a database, so that all sessions have reported their counters. */
    abstract void awaitDisconnected(String database) throws SQLException;

    /** Writes dirty pages to disk, so that they do not slow down the next measurement. */
    abstract void settle() throws SQLException;

    /** Updates the planner statistics of a database. */
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
