package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.admin.EventAdministration.Replay;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** A table that stores its keys in a unique index, as in versions before the key table existed. */
@Timeout(60)
@Tag("mariadb")
@Tag("mysql")
class KeyMigrationTest {

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB", "MYSQL"})
    void keys_move_to_their_table_and_the_index_goes(Databases database) throws SQLException {
        StoreFixture db = givenKeysInTheTable(database);
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        assertThatThrownBy(() -> db.insert(keyed("new")))
                .isInstanceOf(EventStoreException.class)
                .hasMessageContainingAll("outbox_key", "Capability.KEYS", "V10__outbox_key.sql");
        assertThatThrownBy(() -> db.inTransaction(connection -> store.cancel(
                        connection,
                        store.find(connection, EventRef.id("pending"), true).orElseThrow())))
                .hasMessageContaining("V10__outbox_key.sql");
        assertThatThrownBy(() -> db.inTransaction(connection ->
                        store.replay(connection, List.of("dead"), Replay.dead("request", store.now(connection)))))
                .hasMessageContaining("V10__outbox_key.sql");
        assertThat(OutboxSchema.missing(db.dataSource(), store, Capability.KEYS))
                .containsExactly("table outbox_key");

        OutboxSchema.create(db.dataSource(), store, Capability.KEYS);
        OutboxSchema.create(db.dataSource(), store, Capability.KEYS); // a second call is harmless

        assertThat(OutboxSchema.missing(db.dataSource(), store, Capability.KEYS))
                .isEmpty();
        EventEnvelope same = keyed("pending ✓");
        EventEnvelope again = keyed("done");
        assertThat(write(db, same)).containsOnly(Map.entry(same.eventId(), "pending"));
        assertThat(write(db, keyed("kept"))).containsValue("kept");
        assertThat(write(db, again)).isEmpty();
        assertThat(db.<String>call(connection ->
                        store.findLast(connection, "dead").orElseThrow().eventId()))
                .isEqualTo("dead");
        assertThat(db.<Boolean>call(connection ->
                        store.find(connection, EventRef.key("dead"), false).isPresent()))
                .isFalse();
        db.inTransaction(connection -> execute(connection, "UPDATE outbox_event SET dedup_key = 'same'"));
    }

    @Test
    void keys_of_a_second_table_move_too() {
        StoreFixture db = Databases.POSTGRES.fixture();
        AbstractJdbcEventStore second = new PostgresEventStore("second_event");
        OutboxSchema.create(db.dataSource(), second, Capability.KEYS);
        EarlierControlTable.create(db, "second_event");
        db.inTransaction(connection -> execute(
                connection,
                "CREATE UNIQUE INDEX second_event_control_key ON second_event_control (dedup_key)"
                        + " WHERE dedup_key IS NOT NULL AND status IN (0, 2)",
                "INSERT INTO second_event_control (event_id, status, dedup_key, event_type, payload, attempts,"
                        + " available_at, created_at) VALUES ('pending', 0, 'k', 'T', '{}', 0, now(), now())"));
        assertThat(OutboxSchema.missing(db.dataSource(), second, Capability.KEYS))
                .containsExactly("table outbox_key");

        OutboxSchema.create(db.dataSource(), second, Capability.KEYS);

        assertThat(OutboxSchema.missing(db.dataSource(), second, Capability.KEYS))
                .isEmpty();
        assertThat(db.<Map<String, String>>call(
                        connection -> second.insertUnlessTaken(connection, List.of(keyed("k")), null)))
                .containsValue("pending");
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void first_rows_that_are_missing_are_inserted_again(Databases database) {
        StoreFixture db = database.fixture();
        db.inTransaction(connection -> execute(connection, "DELETE FROM outbox_key WHERE slot = 17"));
        assertThat(OutboxSchema.missing(db.dataSource(), database.store(), Capability.KEYS))
                .containsExactly("table outbox_key");

        OutboxSchema.create(db.dataSource(), database.store(), Capability.KEYS);

        assertThat(OutboxSchema.missing(db.dataSource(), database.store(), Capability.KEYS))
                .isEmpty();
    }

    private static Map<String, String> write(StoreFixture db, EventEnvelope event) {
        return db.call(connection ->
                ((AbstractJdbcEventStore) db.store()).insertUnlessTaken(connection, List.of(event), null));
    }

    private static EventEnvelope keyed(String key) {
        return EventEnvelope.builder("T").payloadJson("{}").dedupKey(key).build();
    }

    /** Creates the table without the last migration and with the previous version of V3. */
    private static StoreFixture givenKeysInTheTable(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        if (database == Databases.POSTGRES) {
            EarlierControlTable.create(db, "outbox_event");
        }
        String taken = "status IN (0, 2) OR (status = 1 AND dedup_ms IS NOT NULL)";
        String slot = "dedup_slot VARCHAR(128) GENERATED ALWAYS AS (CASE WHEN " + taken + " THEN dedup_key END)";
        String utf8 = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ";
        db.inTransaction(connection -> {
            execute(connection, "DROP TABLE outbox_key");
            switch (database) {
                case POSTGRES ->
                    execute(
                            connection,
                            "CREATE UNIQUE INDEX outbox_event_control_key ON outbox_event_control (dedup_key)"
                                    + " WHERE dedup_key IS NOT NULL AND ("
                                    + taken + ")",
                            "CREATE INDEX outbox_event_control_dead_key ON outbox_event_control (dedup_key)"
                                    + " WHERE dedup_key IS NOT NULL AND status = 3");
                case H2, H2_AS_MYSQL ->
                    execute(
                            connection,
                            "ALTER TABLE outbox_event ADD COLUMN dedup_slot VARCHAR(128)"
                                    + " GENERATED ALWAYS AS (CASE status WHEN 0 THEN dedup_key WHEN 2 THEN dedup_key"
                                    + " WHEN 1 THEN NVL2(dedup_ms, dedup_key, NULL) END)",
                            "CREATE UNIQUE INDEX outbox_event_key ON outbox_event (dedup_slot)");
                case MARIADB, MYSQL ->
                    execute(
                            connection,
                            "ALTER TABLE outbox_event ADD COLUMN " + slot.replace("GENERATED", utf8 + "GENERATED")
                                    + " STORED, ADD UNIQUE INDEX outbox_event_key (dedup_slot)");
            }
            String table = database == Databases.POSTGRES ? "outbox_event_control" : "outbox_event";
            for (String row : List.of(
                    "'pending', 0, 'pending ✓', NULL, NULL",
                    "'retry', 2, 'retry', NULL, NULL",
                    "'done', 1, 'done', NULL, CURRENT_TIMESTAMP",
                    "'kept', 1, 'kept', 3600000000, CURRENT_TIMESTAMP",
                    "'dead', 3, 'dead', NULL, CURRENT_TIMESTAMP",
                    "'dead too', 3, 'retry', NULL, CURRENT_TIMESTAMP")) {
                execute(
                        connection,
                        "INSERT INTO " + table
                                + " (event_id, status, dedup_key, dedup_ms, done_at, event_type, payload, attempts,"
                                + " available_at, created_at) VALUES ("
                                + row + ", 'T', '{}', 0, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)");
            }
        });
        return new StoreFixture(db.dataSource(), database.store(), "outbox_event", database == Databases.POSTGRES);
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
