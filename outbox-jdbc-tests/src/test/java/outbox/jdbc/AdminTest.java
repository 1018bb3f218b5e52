package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.admin.AdminAction;
import outbox.admin.AdminRequest;
import outbox.admin.AdminRequestFailedException;
import outbox.admin.AdminResult;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;
import outbox.spi.EventStore;
import outbox.testing.contract.AdminContract;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

class AdminTest {

    @Nested
    class OnH2 extends AdminContract {

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
            OutboxSchema.create(
                    POOL,
                    (AbstractJdbcEventStore) store,
                    Capability.ORDER,
                    Capability.KEYS,
                    Capability.PRIORITY,
                    Capability.DEADLINES);
        }

        @Test
        void a_pool_of_one_connection_is_enough() {
            try (HikariDataSource single = AdminDatabases.pool(AdminDatabases.h2(), 1)) {
                H2EventStore store = new H2EventStore();
                OutboxSchema.create(single, store);
                OutboxAdmin admin = new OutboxAdmin(single::getConnection, store);
                AdminRequest request = AdminRequest.builder()
                        .filter(EventFilter.all())
                        .actor("operator")
                        .reason("test")
                        .confirmed(true)
                        .build();

                assertThat(admin.statistics().byType()).isEmpty();
                assertThat(admin.replay(request).complete()).isTrue();
                assertThat(admin.replay(request).repeated()).isTrue();
            }
        }

        @Test
        void the_audit_table_is_beside_the_table_in_its_schema() {
            String url = AdminDatabases.h2() + ";INIT=CREATE SCHEMA IF NOT EXISTS billing";
            try (HikariDataSource pool = AdminDatabases.pool(url, 1)) {
                H2EventStore store = new H2EventStore("billing.outbox_event");
                H2EventStore neighbour = new H2EventStore("billing.invoices");
                OutboxSchema.create(pool, store);
                OutboxSchema.create(pool, neighbour);
                AdminRequest request = AdminRequest.builder()
                        .filter(EventFilter.all())
                        .actor("operator")
                        .reason("test")
                        .confirmed(true)
                        .build();

                new OutboxAdmin(pool::getConnection, store).replay(request);

                assertThat(OutboxSchema.statements(store)).anyMatch(sql -> sql.contains("billing.outbox_audit"));
                assertThatThrownBy(() -> new OutboxAdmin(pool::getConnection, neighbour).replay(request))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("billing.outbox_event");
            }
        }
    }

    @Nested
    class OnPostgres extends AdminContract {

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
            OutboxSchema.create(
                    POOL,
                    (AbstractJdbcEventStore) store,
                    Capability.ORDER,
                    Capability.KEYS,
                    Capability.PRIORITY,
                    Capability.DEADLINES);
        }

        @Test
        void a_server_that_dies_midway_leaves_exactly_what_its_record_says() {
            try (PostgresServer server = PostgresServer.start();
                    HikariDataSource pool = AdminDatabases.pool(server.createDatabase(), 2)) {
                PostgresEventStore store = new PostgresEventStore();
                OutboxSchema.create(pool, store);
                execute(pool, """
                        INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at, done_at)
                        SELECT 'dead-' || n, 'test', '{}', 3, now(), now(), now() FROM generate_series(1, 1200) AS n
                        """);
                AtomicInteger calls = new AtomicInteger();
                OutboxAdmin admin = new OutboxAdmin(
                        () -> {
                            // calls: query, first batch, second batch, third batch
                            if (calls.incrementAndGet() == 4) {
                                server.kill();
                            }
                            return pool.getConnection();
                        },
                        store);
                AdminRequest request = AdminRequest.builder()
                        .filter(EventFilter.all())
                        .actor("operator")
                        .reason("test")
                        .cap(2000)
                        .confirmed(true)
                        .build();

                AdminRequestFailedException failure =
                        catchThrowableOfType(AdminRequestFailedException.class, () -> admin.replay(request));
                server.restart();
                pool.getHikariPoolMXBean().softEvictConnections(); // these connections belong to the killed server
                OutboxAdmin later = new OutboxAdmin(pool::getConnection, store);

                assertThat(failure.affected()).isEqualTo(1000);
                assertThat(later.statistics().byStatus()).containsEntry(EventStatus.NEW, 1000L);
                assertThat(later.replay(request))
                        .isEqualTo(new AdminResult(
                                request.requestId(), AdminAction.REPLAY, false, 1200, 1000, false, true));
            }
        }

        private static void execute(DataSource dataSource, String sql) {
            try (Connection connection = dataSource.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute(sql);
                connection.commit();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends AdminContract {

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
            OutboxSchema.create(
                    POOL,
                    (AbstractJdbcEventStore) store,
                    Capability.ORDER,
                    Capability.KEYS,
                    Capability.PRIORITY,
                    Capability.DEADLINES);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends AdminContract {

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
            OutboxSchema.create(
                    POOL,
                    (AbstractJdbcEventStore) store,
                    Capability.ORDER,
                    Capability.KEYS,
                    Capability.PRIORITY,
                    Capability.DEADLINES);
        }
    }
}
