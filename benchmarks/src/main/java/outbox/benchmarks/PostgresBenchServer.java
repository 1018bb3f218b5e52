package outbox.benchmarks;

import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** PostgreSQL with fsync and synchronous commit on. It counts its statements. */
final class PostgresBenchServer extends BenchServer {
    private static final Map<String, String> SETTINGS = new TreeMap<>(Map.of(
            "fsync", "on",
            "full_page_writes", "on",
            "synchronous_commit", "on",
            "shared_buffers", "1GB",
            "max_wal_size", "4GB",
            "shared_preload_libraries", "pg_stat_statements",
            "pg_stat_statements.track", "top",
            "pg_stat_statements.track_utility", "off")); // do not count BEGIN and COMMIT as statements

    private static final Duration DISCONNECT = Duration.ofSeconds(5);

    private final PostgresServer server;

    PostgresBenchServer() throws SQLException {
        server = PostgresServer.start(SETTINGS);
        execute(adminUrl(), "CREATE EXTENSION pg_stat_statements");
    }

    @Override
    Product product() {
        return Product.POSTGRESQL;
    }

    @Override
    String url(String database) {
        return server.jdbcUrl(database);
    }

    @Override
    String adminUrl() {
        return server.jdbcUrl();
    }

    @Override
    String settings() {
        return SETTINGS.entrySet().stream()
                .map(setting -> setting.getKey() + "=" + setting.getValue())
                .collect(Collectors.joining(", "));
    }

    @Override
    ServerCounters counters(String database) throws SQLException {
        long commits = queryNumber("SELECT xact_commit FROM pg_stat_database WHERE datname = '%s'".formatted(database));
        long statements = queryNumber("""
                SELECT coalesce(sum(s.calls), 0)
                  FROM pg_stat_statements AS s
                  JOIN pg_database AS d ON d.oid = s.dbid
                 WHERE d.datname = '%s'
                """.formatted(database));
        long logBytes = queryNumber("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn");
        return new ServerCounters(commits, statements, logBytes);
    }

    @Override
    List<String> busiest(String database) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(adminUrl());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("""
                        SELECT s.total_exec_time, s.calls, s.rows, s.max_exec_time, s.query
                          FROM pg_stat_statements AS s
                          JOIN pg_database AS d ON d.oid = s.dbid
                         WHERE d.datname = '%s'
                         ORDER BY s.total_exec_time DESC
                         LIMIT 6
                        """.formatted(database))) {
            while (rows.next()) {
                lines.add("%,9.0f ms, %,7d calls, %,7d rows, longest %,7.1f ms: %s"
                        .formatted(
                                rows.getDouble(1),
                                rows.getLong(2),
                                rows.getLong(3),
                                rows.getDouble(4),
                                rows.getString(5).replaceAll("\\s+", " ")));
            }
        }
        return lines;
    }

    @Override
    void awaitDisconnected(String database) throws SQLException {
        long end = System.nanoTime() + DISCONNECT.toNanos();
        String connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = '%s'".formatted(database);
        while (queryNumber(connections) > 0 && System.nanoTime() < end) {
            Pause.untilNanoTime(System.nanoTime() + 20_000_000);
        }
    }

    @Override
    void settle() throws SQLException {
        execute(adminUrl(), "CHECKPOINT");
    }

    @Override
    void analyze(String database) throws SQLException {
        execute(url(database), "VACUUM (ANALYZE)");
    }

    @Override
    void dropDatabase(String database) throws SQLException {
        execute(adminUrl(), "DROP DATABASE IF EXISTS %s WITH (FORCE)".formatted(database));
    }

    @Override
    public void close() {
        server.close();
    }
}
