package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterAll;
import outbox.spi.EventStore;
import outbox.testing.AdminContract;
import outbox.testing.MariaDbServer;

import javax.sql.DataSource;

class MariaDbAdminTest extends AdminContract {

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
        OutboxSchema.create(POOL, (AbstractJdbcEventStore) store, Capability.ORDER, Capability.CONTROL);
    }
}
