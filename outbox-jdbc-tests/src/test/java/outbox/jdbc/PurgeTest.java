package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import outbox.spi.EventStore;
import outbox.testing.contract.PurgeContract;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.PostgresServer;

import javax.sql.DataSource;

class PurgeTest {

    @Nested
    class OnH2 extends PurgeContract {

        private static final HikariDataSource POOL = AdminDatabases.pool(AdminDatabases.h2(), 4);

        @AfterAll
        static void closePool() {
            POOL.close();
        }

        @Override
        protected DataSource dataSource() {
            return POOL;
        }

        @Override
        protected EventStore store(String table) {
            return new H2EventStore(table);
        }

        @Override
        protected void createTables(EventStore store) {
            OutboxSchema.create(POOL, (AbstractJdbcEventStore) store);
        }
    }

    @Nested
    class OnPostgres extends PurgeContract {

        private static final HikariDataSource POOL =
                AdminDatabases.pool(PostgresServer.shared().createDatabase(), 4);

        @AfterAll
        static void closePool() {
            POOL.close();
        }

        @Override
        protected DataSource dataSource() {
            return POOL;
        }

        @Override
        protected EventStore store(String table) {
            return new PostgresEventStore(table);
        }

        @Override
        protected void createTables(EventStore store) {
            OutboxSchema.create(POOL, (AbstractJdbcEventStore) store);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends PurgeContract {

        private static final HikariDataSource POOL =
                AdminDatabases.pool(MariaDbServer.shared().createDatabase(), 4);

        @AfterAll
        static void closePool() {
            POOL.close();
        }

        @Override
        protected DataSource dataSource() {
            return POOL;
        }

        @Override
        protected EventStore store(String table) {
            return new MySqlEventStore(table);
        }

        @Override
        protected void createTables(EventStore store) {
            OutboxSchema.create(POOL, (AbstractJdbcEventStore) store);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends PurgeContract {

        private static final HikariDataSource POOL =
                AdminDatabases.pool(MySqlServer.shared().createDatabase(), 4);

        @AfterAll
        static void closePool() {
            POOL.close();
        }

        @Override
        protected DataSource dataSource() {
            return POOL;
        }

        @Override
        protected EventStore store(String table) {
            return new MySqlEventStore(table);
        }

        @Override
        protected void createTables(EventStore store) {
            OutboxSchema.create(POOL, (AbstractJdbcEventStore) store);
        }
    }
}
