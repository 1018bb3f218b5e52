package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;
import outbox.admin.Pause;
import outbox.jdbc.internal.schema.DdlFiles;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.EventOrder.Position;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@Tag("mariadb")
@Tag("mysql")
class OutboxSchemaTest {

    private static final Capability[] ALL = {
        Capability.ORDER, Capability.KEYS, Capability.PRIORITY, Capability.DEADLINES
    };

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void several_nodes_may_create_the_table_at_the_same_time(Databases database) throws Exception {
        DataSource pool = Databases.newPool(database.url(), 6, true);
        inParallel(4, () -> OutboxSchema.create(pool, database.store()));
        new StoreFixture(pool, database.store(), "outbox_event", false).insert(EventEnvelope.ofJson("T", "{}"));
    }

    private static void inParallel(int threads, Runnable task) throws Exception {
        ExecutorService nodes = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<Object>> starts = Collections.nCopies(threads, Executors.callable(task));
            for (Future<Object> start : nodes.invokeAll(starts, 30, TimeUnit.SECONDS)) {
                start.get();
            }
        } finally {
            nodes.shutdownNow();
        }
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

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void several_nodes_may_add_capabilities_to_a_table_with_events_at_the_same_time(Databases database)
            throws Exception {
        List<String> ddl = database == Databases.POSTGRES
                ? SpecificationTable.POSTGRES_WITHOUT_ZONE
                : database == Databases.H2 ? SpecificationTable.CLOB_AND_TIMESTAMP : SpecificationTable.TEXT;
        StoreFixture db = database.fixture(ddl, false);
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        EventEnvelope before = ofAggregate();
        db.insert(before);
        assertThatThrownBy(() -> db.inTransaction(store::requireOrder))
                .isInstanceOf(EventStoreException.class)
                .hasMessageContainingAll("outbox_event", "V2__outbox_order.sql");
        assertThatThrownBy(() -> positions(db, before)).isInstanceOf(EventStoreException.class);

        inParallel(4, () -> OutboxSchema.create(db.dataSource(), database.store(), ALL));
        OutboxSchema.create(db.dataSource(), database.store(), ALL);

        db.inTransaction(store::requireOrder); // the same store that refused before
        EventEnvelope after = ofAggregate();
        db.insert(after);
        Map<String, Position> positions = positions(db, before, after);
        assertThat(Objects.requireNonNull(positions.get(after.eventId())).unfinishedBefore())
                .isEqualTo(
                        Objects.requireNonNull(positions.get(before.eventId())).number())
                .isPositive();
        assertThat(indexes(db)).contains("outbox_event_order", "outbox_event_priority", "outbox_event_expiry");
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"H2", "POSTGRES"})
    void a_table_in_a_schema_of_its_own_has_an_order_too(Databases database) throws SQLException {
        DataSource pool = Databases.newPool(database.url(), 2, true);
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE SCHEMA billing");
        }
        AbstractJdbcEventStore store = database == Databases.H2
                ? new H2EventStore("billing.invoices_outbox")
                : new PostgresEventStore("billing.invoices_outbox");
        OutboxSchema.create(pool, database.store(), ALL);
        OutboxSchema.create(pool, store, ALL);
        StoreFixture db = new StoreFixture(pool, store, "billing.invoices_outbox", false);
        EventEnvelope event = ofAggregate();
        db.insert(event);

        assertThat(positions(db, event)).containsOnlyKeys(event.eventId());
        assertThat(indexes(db)).contains("outbox_event_order", "invoices_outbox_order", "invoices_outbox_priority");
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"H2", "POSTGRES", "MARIADB"})
    void a_table_in_a_schema_of_its_own_has_its_own_pauses(Databases database) throws SQLException {
        DataSource pool = Databases.newPool(database.url(), 2, true);
        // unique, because on MariaDB a schema is a database that other tests can see
        String schema = "billing" + System.nanoTime();
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE SCHEMA " + schema);
        }
        String table = schema + ".invoices_outbox";
        AbstractJdbcEventStore store = switch (database) {
            case H2 -> new H2EventStore(table);
            case POSTGRES -> new PostgresEventStore(table);
            default -> new MySqlEventStore(table);
        };
        OutboxSchema.create(pool, database.store(), Capability.PAUSES);
        StoreFixture db = new StoreFixture(pool, store, table, false);
        assertThat(db.<Boolean>call(store::hasPauses))
                .as("those of another schema")
                .isFalse();

        OutboxSchema.create(pool, store, Capability.PAUSES);

        assertThat(db.<Boolean>call(store::hasPauses)).isTrue();
        Pause pause = new Pause(Pause.Scope.TYPE, "T", db.now(), "ada", "why");
        assertThat(db.<Boolean>call(connection -> store.pause(connection, pause)))
                .isTrue();
        assertThat(db.call(store::pauses)).hasSize(1);
        StoreFixture other = new StoreFixture(pool, database.store(), "outbox_event", false);
        assertThat(other.call(((AbstractJdbcEventStore) other.store())::pauses)).isEmpty();
    }

    private static EventEnvelope ofAggregate() {
        return EventEnvelope.builder("T").aggregateId("7").payloadJson("{}").build();
    }

    private static Map<String, Position> positions(StoreFixture db, EventEnvelope... events) {
        List<String> ids = Stream.of(events).map(EventEnvelope::eventId).toList();
        return db.call(connection ->
                ((AbstractJdbcEventStore) db.store()).positions(connection, ids, Ordering.perAggregate()));
    }

    @Test
    void an_index_that_came_later_is_added_under_the_name_of_its_table() throws SQLException {
        StoreFixture db = Databases.POSTGRES.fixture();
        AbstractJdbcEventStore invoices = new PostgresEventStore("invoices_outbox");
        OutboxSchema.create(db.dataSource(), invoices, Capability.PRIORITY);
        assertThat(indexes(db)).contains("outbox_event_priority", "invoices_outbox_priority");
        try (Connection connection = db.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("DROP INDEX invoices_outbox_priority"); // as in earlier versions
        }

        OutboxSchema.create(db.dataSource(), invoices, Capability.PRIORITY);

        assertThat(indexes(db)).contains("invoices_outbox_priority");
    }

    private static Set<String> indexes(StoreFixture db) throws SQLException {
        Set<String> names = new HashSet<>();
        try (Connection connection = db.dataSource().getConnection()) {
            boolean upper = connection.getMetaData().storesUpperCaseIdentifiers();
            for (String table : List.of("outbox_event", "invoices_outbox")) {
                try (ResultSet rows = connection
                        .getMetaData()
                        .getIndexInfo(
                                connection.getCatalog(),
                                null,
                                upper ? table.toUpperCase(Locale.ROOT) : table,
                                false,
                                true)) {
                    while (rows.next()) {
                        names.add(String.valueOf(rows.getString("INDEX_NAME")).toLowerCase(Locale.ROOT));
                    }
                }
            }
        }
        return names;
    }

    /**
     * On PostgreSQL the tests add the constraints that the shipped table omits. MySQL before 8.0.16
     * ignores CHECK constraints.
     */
    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB"})
    void the_table_refuses_what_no_event_can_be(Databases database) {
        StoreFixture db = database.fixture();
        EventEnvelope event = EventEnvelope.ofJson("T", "{}");
        db.insert(event);

        for (String impossible : List.of(
                "status = 4",
                "status = 1, locked_by = 'x', locked_at = current_timestamp",
                "locked_by = 'x'",
                "locked_at = current_timestamp")) {
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
    void a_name_too_long_for_what_is_named_after_it_is_refused() {
        DataSource pool = Databases.newPool(Databases.POSTGRES.url(), 4, true);
        AbstractJdbcEventStore fits = new PostgresEventStore("a".repeat(54));
        AbstractJdbcEventStore tooLong = new PostgresEventStore("b".repeat(63));
        AbstractJdbcEventStore tooLongForPriority = new PostgresEventStore("c".repeat(55));

        OutboxSchema.create(pool, fits, ALL);
        OutboxSchema.create(pool, tooLongForPriority);

        StoreFixture db = new StoreFixture(pool, tooLongForPriority, "c".repeat(55), true);
        db.insert(EventEnvelope.ofJson("T", "{}"));
        assertThat(db.count("1 = 1")).isEqualTo(1);
        assertThatThrownBy(() -> OutboxSchema.create(pool, tooLongForPriority, Capability.PRIORITY))
                .hasMessageContaining("too long");
        assertThatThrownBy(() -> OutboxSchema.create(pool, tooLong)).hasMessageContaining("too long");
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

    @ParameterizedTest
    @ValueSource(strings = {"h2", "mysql", "postgresql"})
    void migration_tools_find_the_same_ddl_with_the_default_names(String database) {
        Map<String, String> names = DdlFiles.names(AbstractJdbcEventStore.DEFAULT_TABLE);
        List<String> resources = new ArrayList<>(List.of(OutboxSchema.TABLE.formatted(database)));
        for (Capability capability : Capability.values()) {
            resources.add(capability.resource(database));
        }

        for (String resource : resources) {
            assertThat(DdlFiles.read(resource))
                    .as(resource)
                    .isEqualTo(DdlFiles.script(resource, names))
                    .doesNotContain("${");
        }
    }
}
