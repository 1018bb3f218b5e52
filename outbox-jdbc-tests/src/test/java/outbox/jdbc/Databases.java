package outbox.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import outbox.testing.contract.StoreFixture;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.PgBouncerServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/**
 * The databases of the tests. Each test has a database with empty tables and its own pool. Creating a pool closes
 * the pools of earlier tests. A test may reuse the database of an earlier test that had the same tables.
 */
enum Databases {
    H2,
    H2_AS_MYSQL,
    POSTGRES,
    MARIADB,
    MYSQL;

    /** A default isolation level that a pool, a role or a server may set for transactions. */
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

    /** One PgBouncer per JVM. It ends with the JVM. */
    private static final class PgBouncer {
        static final PgBouncerServer SHARED = PgBouncerServer.inFrontOf(PostgresServer.shared());
    }

    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final List<Pool> POOLS = new ArrayList<>(); // guarded by the class

    /** A pool, and the action to run after it is closed. */
    private record Pool(HikariDataSource dataSource, Runnable afterClose) {}

    private static final Map<String, UsedDatabases> USED = new ConcurrentHashMap<>(); // by database and tables

    /** DDL for an empty database. */
    @FunctionalInterface
    interface Tables {
        void createIn(DataSource database) throws SQLException;
    }

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

    /** Returns an empty database with the shipped table and all its capabilities. */
    StoreFixture fixture() {
        return fixture("");
    }

    /**
     * The constraints that the shipped table has on MySQL and MariaDB. The shipped table has none on PostgreSQL,
     * where they make each INSERT slower, and none on H2, where one version fails with them. The tests add them to
     * find statements that violate them.
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

    /**
     * Returns a new database with the shipped table. Its connections begin transactions with this isolation level.
     */
    StoreFixture fixtureAt(Isolation isolation) {
        return fixture(isolation.parameter(this));
    }

    /** Returns a new database with the shipped table, reached through PgBouncer in transaction mode. */
    static StoreFixture fixtureBehindPgBouncer() {
        DataSource pool = newPool(PgBouncer.SHARED.through(POSTGRES.url()), 10, true);
        POSTGRES.createShipped(pool);
        return POSTGRES.shipped(pool);
    }

    /** Returns an empty database with the shipped table, reached with the given URL parameters. */
    StoreFixture fixture(String parameters) {
        return shipped(pool("shipped", parameters, this::createShipped));
    }

    /**
     * Returns an empty database with the shipped table and further tables. The name identifies this set of tables.
     */
    StoreFixture fixtureWith(String further, Tables tables) {
        return shipped(pool("shipped and " + further, "", pool -> {
            createShipped(pool);
            tables.createIn(pool);
        }));
    }

    /**
     * Returns a pool for a database with these tables, all empty. The name identifies the set of tables. If an
     * earlier test used the same name and did not change the schema, its database is emptied and reused.
     */
    DataSource pool(String name, Tables tables) {
        return pool(name, "", tables);
    }

    private DataSource pool(String name, String parameters, Tables tables) {
        try {
            if (this == H2 || this == H2_AS_MYSQL) { // a new database is cheap there
                DataSource pool = newPool(with(url(), parameters), 10, true);
                tables.createIn(pool);
                return pool;
            }
            UsedDatabases used = USED.computeIfAbsent(this + " " + name, key -> new UsedDatabases(this));
            String emptied = used.take();
            String url = emptied != null ? emptied : url();
            DataSource pool = newPool(with(url, parameters), 10, true, () -> used.add(url));
            if (emptied == null) {
                tables.createIn(pool);
                used.created(pool);
            }
            return pool;
        } catch (SQLException e) {
            throw new IllegalStateException("Cannot prepare a database of " + this, e);
        }
    }

    private static String with(String url, String parameters) {
        return parameters.isEmpty() ? url : url + (url.contains("?") ? "&" : "?") + parameters;
    }

    private void createShipped(DataSource pool) {
        OutboxSchema.create(
                pool, store(), Capability.ORDER, Capability.KEYS, Capability.PRIORITY, Capability.DEADLINES);
        if (this != MARIADB && this != MYSQL) {
            addChecks(pool);
        }
    }

    private StoreFixture shipped(DataSource pool) {
        return new StoreFixture(pool, store(), AbstractJdbcEventStore.DEFAULT_TABLE, this == POSTGRES);
    }

    /** Returns an empty database whose table is created by the given statements. */
    StoreFixture fixture(List<String> ddl, boolean zonedTimes) {
        DataSource pool = pool(String.join(";", ddl), database -> {
            try (Connection connection = database.getConnection();
                    Statement statement = connection.createStatement()) {
                for (String sql : ddl) {
                    statement.execute(sql);
                }
            }
        });
        return new StoreFixture(pool, store(), AbstractJdbcEventStore.DEFAULT_TABLE, zonedTimes);
    }

    static HikariDataSource newPool(String url, int size, boolean autoCommit) {
        return newPool(url, size, autoCommit, () -> {});
    }

    private static synchronized HikariDataSource newPool(
            String url, int size, boolean autoCommit, Runnable afterClose) {
        while (POOLS.size() > 6) {
            Pool oldest = POOLS.remove(0);
            oldest.dataSource.close();
            oldest.afterClose.run();
        }
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(size);
        config.setMinimumIdle(0);
        config.setAutoCommit(autoCommit);
        config.setConnectionTimeout(20_000);
        HikariDataSource pool = new HikariDataSource(config);
        POOLS.add(new Pool(pool, afterClose));
        return pool;
    }
}
