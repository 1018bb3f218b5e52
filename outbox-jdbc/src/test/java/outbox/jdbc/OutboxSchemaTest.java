package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.testing.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class OutboxSchemaTest {

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void several_nodes_may_create_the_table_at_the_same_time(Databases database) throws Exception {
        DataSource pool = Databases.newPool(database.url(), 6, true);
        ExecutorService nodes = Executors.newFixedThreadPool(4);
        try {
            List<Callable<Boolean>> starts = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                starts.add(() -> {
                    OutboxSchema.create(pool, database.store());
                    return true;
                });
            }
            for (Future<Boolean> start : nodes.invokeAll(starts, 30, TimeUnit.SECONDS)) {
                assertThat(start.get()).isTrue();
            }
        } finally {
            nodes.shutdownNow();
        }
        new StoreFixture(pool, database.store(), "outbox_event", false).insert(EventEnvelope.ofJson("T", "{}"));
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void a_table_of_another_name_can_be_created_beside_the_first(Databases database) {
        DataSource pool = Databases.newPool(database.url(), 4, true);
        AbstractJdbcEventStore other = switch (database) {
            case POSTGRES -> new PostgresEventStore("billing_outbox");
            case MARIADB, MYSQL -> new MySqlEventStore("billing_outbox");
            default -> new H2EventStore("billing_outbox");
        };
        OutboxSchema.create(pool, database.store());
        OutboxSchema.create(pool, other);
        EventEnvelope event = EventEnvelope.ofJson("T", "{}");
        StoreFixture billing = new StoreFixture(pool, other, "billing_outbox", false);

        billing.insert(event);

        assertThat(billing.row(event.eventId()).status()).isEqualTo(EventStatus.NEW);
        assertThat(new StoreFixture(pool, database.store(), "outbox_event", false).count("1 = 1"))
                .isZero();
    }

    @Test
    void the_shipped_table_refuses_what_no_event_can_be() {
        StoreFixture db = Databases.POSTGRES.fixture();
        EventEnvelope event = EventEnvelope.ofJson("T", "{}");
        db.insert(event);

        for (String impossible : List.of(
                "status = 4",
                "status = 1, locked_by = 'x', locked_at = now()",
                "locked_by = 'x'",
                "locked_at = now()")) {
            assertThatThrownBy(() -> update(db, impossible)).as(impossible).isInstanceOf(SQLException.class);
        }
    }

    private static void update(StoreFixture db, String change) throws SQLException {
        try (Connection connection = db.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("UPDATE outbox_event SET " + change);
        }
    }

    @Test
    void a_table_that_lacks_columns_is_refused_by_their_names() throws SQLException {
        DataSource pool = Databases.newPool(Databases.H2.url(), 2, true);
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE outbox_event (event_id VARCHAR(36), event_type VARCHAR(10), status INT)");
        }
        StoreFixture db = new StoreFixture(pool, new H2EventStore(), "outbox_event", false);

        assertThatThrownBy(() -> db.insert(EventEnvelope.ofJson("T", "{}")))
                .isInstanceOf(EventStoreException.class)
                .hasMessageContaining("locked_by")
                .hasMessageContaining("META-INF/outbox/schema");
    }

    @Test
    void a_table_that_is_not_there_is_named() {
        DataSource pool = Databases.newPool(Databases.H2.url(), 2, true);
        StoreFixture db = new StoreFixture(pool, new H2EventStore("billing_outbox"), "billing_outbox", false);

        assertThatThrownBy(() -> db.insert(EventEnvelope.ofJson("T", "{}")))
                .isInstanceOf(EventStoreException.class)
                .hasMessageContaining("billing_outbox");
    }
}
