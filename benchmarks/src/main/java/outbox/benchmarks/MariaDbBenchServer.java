package outbox.benchmarks;

import outbox.testing.server.MariaDbServer;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** MariaDB that flushes its log at every commit. */
final class MariaDbBenchServer extends BenchServer {
    private static final Map<String, String> SETTINGS = new TreeMap<>(Map.of(
            "innodb-flush-log-at-trx-commit", "1",
            "innodb-flush-method", "O_DIRECT", // the default; servers of tests do not flush
            "innodb-buffer-pool-size", "1G",
            "innodb-log-file-size", "1G",
            "innodb-monitor-enable", "module_trx")); // counts commits, of statements in auto-commit too

    private static final Duration SETTLE = Duration.ofSeconds(5);

    private final MariaDbServer server = MariaDbServer.start(SETTINGS);

    @Override
    Product product() {
        return Product.MARIADB;
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

    /** Counts the whole server, which does nothing else during the measurement. */
    @Override
    ServerCounters counters(String database) throws SQLException {
        long commits = queryNumber("""
                SELECT sum(count)
                  FROM information_schema.innodb_metrics
                 WHERE name IN ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits')
                """);
        long statements = queryNumber("""
                SELECT sum(variable_value)
                  FROM information_schema.global_status
                 WHERE variable_name IN ('COM_SELECT', 'COM_INSERT', 'COM_UPDATE', 'COM_DELETE', 'COM_REPLACE',
                                         'COM_UPDATE_MULTI', 'COM_DELETE_MULTI', 'COM_INSERT_SELECT')
                """);
        long logBytes = status("INNODB_LSN_CURRENT");
        return new ServerCounters(commits, statements, logBytes);
    }

    /** Does nothing, because the counters are always up to date. */
    @Override
    void awaitDisconnected(String database) {}

    /**
     * InnoDB has no checkpoint command. It purges old row versions after their transactions, and this writes
     * to the log.
     */
    @Override
    void settle() throws SQLException {
        long end = System.nanoTime() + SETTLE.toNanos();
        while (status("INNODB_HISTORY_LIST_LENGTH") > 0 && System.nanoTime() < end) {
            Pause.untilNanoTime(System.nanoTime() + 20_000_000);
        }
    }

    private long status(String name) throws SQLException {
        return queryNumber("""
                SELECT variable_value
                  FROM information_schema.global_status
                 WHERE variable_name = '%s'
                """.formatted(name));
    }

    @Override
    void analyze(String database) throws SQLException {
        execute(url(database), "ANALYZE TABLE business_order");
    }

    @Override
    void dropDatabase(String database) throws SQLException {
        execute(adminUrl(), "DROP DATABASE IF EXISTS " + database);
    }

    @Override
    public void close() {
        server.close();
    }
}
