package outbox.spring;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.H2EventStore;
import outbox.jdbc.MySqlEventStore;
import outbox.jdbc.PostgresEventStore;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.PostgresServer;

import java.util.concurrent.atomic.AtomicInteger;

/** The databases of the tests that need more than H2. */
enum TestDatabase {
    H2,
    POSTGRES,
    MARIADB,
    MYSQL;

    private static final AtomicInteger NUMBER = new AtomicInteger();

    /** Returns a pool on a new database. */
    HikariDataSource pool() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(
                switch (this) {
                    case H2 -> "jdbc:h2:mem:managers" + NUMBER.incrementAndGet() + ";DB_CLOSE_DELAY=-1";
                    case POSTGRES -> PostgresServer.shared().createDatabase();
                    case MARIADB -> MariaDbServer.shared().createDatabase();
                    case MYSQL -> MySqlServer.shared().createDatabase();
                });
        config.setMaximumPoolSize(6);
        config.setMinimumIdle(0);
        return new HikariDataSource(config);
    }

    AbstractJdbcEventStore store() {
        return switch (this) {
            case H2 -> new H2EventStore();
            case POSTGRES -> new PostgresEventStore();
            case MARIADB, MYSQL -> new MySqlEventStore();
        };
    }
}
