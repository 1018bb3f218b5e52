package outbox.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

import java.util.UUID;

/** Pools for the contracts of administration and purge. Without auto-commit, as many applications have them: nothing may depend on it. */
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
