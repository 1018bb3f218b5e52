package outbox.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

import java.util.UUID;

/**
 * Connection pools for the admin and purge contracts. Auto-commit is off, as in many applications, because nothing
 * may depend on it.
 */
final class AdminDatabases {

    private AdminDatabases() {}

    static String h2() {
        return "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    }

    static HikariDataSource pool(String url, int size) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(size);
        config.setAutoCommit(false);
        config.setConnectionTimeout(5000);
        return new HikariDataSource(config);
    }
}
