package outbox.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import outbox.testing.MariaDbServer;
import outbox.testing.MySqlServer;
import outbox.testing.PgBouncerServer;
import outbox.testing.PostgresServer;
import outbox.testing.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/** The databases of the tests: a fresh one for each test class or test, with a pool of its own. Pools of former tests are closed when a new one is made. */
enum Databases {
    H2,
    H2_AS_MYSQL,
    POSTGRES,
    MARIADB,
    MYSQL;

    /** What a pool, a role or a server may have set for transactions that do not say it themselves. */
    enum Isolation {
        REPEATABLE_READ("repeatable%5C%20read", "REPEATABLE-READ"),
        SERIALIZABLE("serializable", "SERIALIZABLE");

        private final String inPostgres;
        private final String inMySql;

        Isolation(String inPostgres, String inMySql) {
            this.inPostgres = inPostgres;
            this.inMySql = inMySql;
        }

        private String parameter(Databases database) {
            return database == POSTGRES
                    ? "options=-c%20default_transaction_isolation=" + inPostgres
                    : "sessionVariables=transaction_isolation='" + inMySql + "'";
        }
    }

    /** One per JVM, ended with it. */
    private static final class PgBouncer {
        static final PgBouncerServer SHARED = PgBouncerServer.inFrontOf(PostgresServer.shared());
    }

    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final List<HikariDataSource> POOLS = new ArrayList<>();

    String url() {
        return switch (this) {
            case H2 -> "jdbc:h2:mem:test" + NUMBER.incrementAndGet() + ";DB_CLOSE_DELAY=-1";
            case H2_AS_MYSQL -> "jdbc:h2:mem:test" + NUMBER.incrementAndGet() + ";DB_CLOSE_DELAY=-1;MODE=MySQL";
            case POSTGRES -> PostgresServer.shared().createDatabase();
            case MARIADB -> MariaDbServer.shared().createDatabase();
            case MYSQL -> MySqlServer.shared().createDatabase();
        };
    }

    AbstractJdbcEventStore store() {
        return switch (this) {
            case H2, H2_AS_MYSQL -> new H2EventStore();
            case POSTGRES -> new PostgresEventStore();
            case MARIADB, MYSQL -> new MySqlEventStore();
        };
    }

    /** A new database with the shipped table and all its capabilities. */
    StoreFixture fixture() {
        return fixture("");
    }

    /**
     * The constraints that the shipped table has on MySQL and MariaDB. It has none on PostgreSQL, where they make each
     * INSERT slower, and none on H2, where one version fails with them; here they find statements that break them.
     */
    private static void addChecks(DataSource pool) {
        List<String> checks = List.of(
                "outbox_event_status CHECK (status IN (0, 1, 2, 3))",
                "outbox_event_lease CHECK ((locked_by IS NULL) = (locked_at IS NULL)"
                        + " AND (locked_by IS NULL OR status IN (0, 2)))");
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            for (String check : checks) {
                statement.execute("ALTER TABLE outbox_event ADD CONSTRAINT " + check);
            }
        } catch (SQLException e) {
            throw new IllegalStateException("Cannot add the checks", e);
        }
    }

    /** A new database with the shipped table, whose connections begin transactions in this isolation. */
    StoreFixture fixtureAt(Isolation isolation) {
        return fixture(isolation.parameter(this));
    }

    /** A new database with the shipped table, reached through PgBouncer in transaction mode. */
    static StoreFixture fixtureBehindPgBouncer() {
        return POSTGRES.fixtureAtUrl(PgBouncer.SHARED.through(POSTGRES.url()));
    }

    /** A new database with the shipped table, reached with the given parameters of the URL. */
    StoreFixture fixture(String parameters) {
        String url = url();
        return fixtureAtUrl(parameters.isEmpty() ? url : url + (url.contains("?") ? "&" : "?") + parameters);
    }

    private StoreFixture fixtureAtUrl(String url) {
        DataSource pool = newPool(url, 10, true);
        OutboxSchema.create(pool, store(), Capability.ORDER, Capability.CONTROL);
        if (this != MARIADB && this != MYSQL) {
            addChecks(pool);
        }
        return new StoreFixture(pool, store(), AbstractJdbcEventStore.DEFAULT_TABLE, this == POSTGRES);
    }

    /** A new database whose table is made by the given statements. */
    StoreFixture fixture(List<String> ddl, boolean zonedTimes) throws SQLException {
        DataSource pool = newPool(url(), 10, true);
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            for (String sql : ddl) {
                statement.execute(sql);
            }
        }
        return new StoreFixture(pool, store(), AbstractJdbcEventStore.DEFAULT_TABLE, zonedTimes);
    }

    static synchronized HikariDataSource newPool(String url, int size, boolean autoCommit) {
        while (POOLS.size() > 6) {
            POOLS.remove(0).close();
        }
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(size);
        config.setMinimumIdle(0);
        config.setAutoCommit(autoCommit);
        config.setConnectionTimeout(20_000);
        HikariDataSource pool = new HikariDataSource(config);
        POOLS.add(pool);
        return pool;
    }
}
