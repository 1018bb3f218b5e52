package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import outbox.admin.AdminRequest;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin;
import outbox.spi.EventStore;
import outbox.testing.AdminContract;

import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class H2AdminTest extends AdminContract {

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
        OutboxSchema.create(POOL, (AbstractJdbcEventStore) store, Capability.ORDER, Capability.CONTROL);
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
