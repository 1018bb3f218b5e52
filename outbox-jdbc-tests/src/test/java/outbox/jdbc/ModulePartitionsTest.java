package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.purge.OutboxPurge;
import outbox.relay.Relay;
import outbox.testing.fault.FaultyDataSource;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.LocalDate;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** A module's outbox, partitioned by day. */
@Timeout(60)
class ModulePartitionsTest {

    @SuppressWarnings("NullAway.Init") // before each test
    private ModuleTable db;

    @SuppressWarnings("NullAway.Init") // before each test
    private ModulePartitions partitions;

    @BeforeEach
    void freshTable() {
        db = ModuleTable.partitioned("billing.org_outbox");
        partitions = new ModulePartitions(db.dataSource, db.store);
    }

    @Test
    void partitions_are_made_ahead_once() {
        assertThat(partitions.createAhead(3)).isEqualTo(4);
        assertThat(partitions.createAhead(3)).isZero();
        assertThat(partitions.createAhead(4)).isEqualTo(1);

        db.insert("{}");
        assertThat(db.number("SELECT COUNT(*) FROM billing.org_outbox_rest")).isZero();
    }

    @Test
    void a_day_without_a_partition_goes_to_the_rest() {
        db.insert("{}");

        assertThat(db.number("SELECT COUNT(*) FROM billing.org_outbox_rest")).isEqualTo(1);
        assertThat(partitions.createAhead(1)).isEqualTo(1); // tomorrow only; today stays in the rest partition
    }

    @Test
    void events_in_partitions_are_relayed_and_published_once_by_their_id() throws SQLException {
        partitions.createAhead(1);
        OutboxPublisher publisher = new OutboxPublisher();
        UUID eventId = UUID.randomUUID();
        long first = committed(publisher, eventId);
        long again = committed(publisher, eventId);

        assertThat(again).isEqualTo(first);
        assertThat(db.count("1 = 1")).isEqualTo(1);
        try (Relay relay = Relay.builder()
                .connectionProvider(db.dataSource::getConnection)
                .eventStore(db.store)
                .dispatcher(message -> {})
                .build()) {
            relay.start();
            await().until(() -> db.row(eventId).published());
        }
    }

    @Test
    void a_day_is_dropped_when_all_of_it_was_delivered_long_ago() {
        LocalDate delivered = givenDay(10, "published_at = now() - interval '8 days'");
        LocalDate pending = givenDay(11, "published_at = NULL");
        LocalDate late = givenDay(12, "published_at = now() - interval '6 days'");
        LocalDate young = givenDay(3, "published_at = now() - interval '3 days'");
        partitions.createAhead(1);

        List<String> dropped = partitions.dropOld(Duration.ofDays(7));

        assertThat(dropped).containsExactly(name(delivered));
        assertThat(exists(delivered)).isFalse();
        for (LocalDate kept : List.of(pending, late, young)) {
            assertThat(exists(kept)).isTrue();
        }
        assertThat(db.count("1 = 1")).isEqualTo(3);
    }

    @Test
    void a_table_that_is_busy_is_left_for_the_next_time() throws SQLException {
        LocalDate delivered = givenDay(10, "published_at = now() - interval '8 days'");
        try (Connection writer = db.dataSource.getConnection()) {
            writer.setAutoCommit(false);
            try (var statement = writer.createStatement()) {
                statement.execute("LOCK TABLE ONLY billing.org_outbox IN ROW EXCLUSIVE MODE");
            }

            assertThat(partitions.dropOld(Duration.ofDays(7))).isEmpty();
            writer.rollback();
        }
        assertThat(partitions.dropOld(Duration.ofDays(7))).containsExactly(name(delivered));
    }

    @Test
    void a_relay_makes_days_ahead_and_drops_old_ones_instead_of_deleting_their_rows() {
        LocalDate delivered = givenDay(10, "published_at = now() - interval '8 days'");
        LocalDate today = givenDay(0, "published_at = NULL");
        LocalDate kept = givenDay(8, "published_at = NULL, available_at = now() + interval '1 day'");
        // the partition of its day will be dropped soon
        givenEvent(kept, "published_at = now() - interval '7 days 12 hours'");
        LocalDate mixed = givenDay(12, "published_at = NULL, available_at = now() + interval '1 day'");
        // the partition of its day should have been dropped long ago
        givenEvent(mixed, "published_at = now() - interval '11 days'");

        try (Relay relay = relay()) {
            relay.start();
            await().until(() -> exists(today.plusDays(7)) && !exists(delivered));
            await().until(() -> inDay(mixed) == 1);
        }

        assertThat(exists(today.plusDays(8))).isFalse();
        assertThat(inDay(kept)).isEqualTo(2);
    }

    @Test
    void a_relay_keeps_partitions_at_every_run_of_its_purge() {
        try (Relay relay = relay()) {
            relay.start();
            LocalDate today = today();
            await().until(() -> exists(today.plusDays(7)));

            db.execute("DROP TABLE billing." + name(today.plusDays(5)));

            await().until(() -> exists(today.plusDays(5)));
        }
    }

    @Test
    void a_day_that_keeps_to_the_rest_does_not_lock_the_table_at_every_run() throws SQLException {
        db.insert("{}");
        partitions.createAhead(7);
        FaultyDataSource watched = new FaultyDataSource(db.dataSource);
        FaultyDataSource.Fault create =
                watched.failBefore(1, call -> call.sql() != null && call.sql().startsWith("CREATE TABLE"), "42501");
        try (Connection connection = watched.getConnection()) {
            assertThat(db.store.keepPartitions(connection, Duration.ofDays(7))).isTrue();
        }
        assertThat(create.happened()).isFalse();
    }

    @Test
    void partitions_of_another_make_and_plain_tables_are_left_alone() throws SQLException {
        ModuleTable plain = new ModuleTable();
        assertThat(kept(plain)).isFalse();

        db.execute("ALTER TABLE billing.org_outbox_rest RENAME TO org_outbox_others");
        assertThat(kept(db)).isFalse();
        assertThat(db.number("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'billing.org_outbox'::regclass"))
                .isEqualTo(1);
    }

    @Test
    void without_the_right_to_make_partitions_rows_are_purged_all_the_same() {
        LocalDate day = givenDay(10, "published_at = now() - interval '7 days 12 hours'");
        db.execute("GRANT USAGE ON SCHEMA billing TO pg_monitor"); // a role that exists on every server
        db.execute("GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA billing TO pg_monitor");

        OutboxPurge purge = OutboxPurge.builder()
                .connectionProvider(() -> {
                    Connection connection = db.dataSource.getConnection();
                    try (var statement = connection.createStatement()) {
                        statement.execute("SET ROLE pg_monitor");
                    }
                    return connection;
                })
                .eventStore(db.store)
                .build();

        assertThat(purge.purge().done()).isEqualTo(1);
        assertThat(exists(day)).isTrue();
    }

    private static boolean kept(ModuleTable table) throws SQLException {
        try (Connection connection = table.dataSource.getConnection()) {
            return table.store.keepPartitions(connection, Duration.ofDays(7));
        }
    }

    private Relay relay() {
        return Relay.builder()
                .connectionProvider(db.dataSource::getConnection)
                .eventStore(db.store)
                .dispatcher(message -> {})
                .purgeInterval(Duration.ofMillis(100))
                .retention(Duration.ofDays(7))
                .build();
    }

    private long inDay(LocalDate day) {
        return db.number("SELECT COUNT(*) FROM billing." + name(day));
    }

    @Test
    void only_a_module_on_postgresql_has_partitions() {
        LayoutEventStore other =
                LayoutEventStore.of(db.dataSource, TableLayout.textStatus("outbox_events"), new TestLead());

        assertThatThrownBy(() -> new ModulePartitions(db.dataSource, other)).hasMessageContaining("module");
        assertThatThrownBy(() -> partitions.dropOld(Duration.ofDays(-1))).hasMessageContaining("retention");
        assertThatThrownBy(() -> partitions.createAhead(-1)).hasMessageContaining("days");
    }

    /** Creates a partition for a day this long ago, with one event. */
    private LocalDate givenDay(int daysAgo, String set) {
        LocalDate day = today().minusDays(daysAgo);
        db.execute("CREATE TABLE billing." + name(day) + " PARTITION OF billing.org_outbox FOR VALUES FROM ('" + day
                + " 00:00:00+00') TO ('" + day.plusDays(1) + " 00:00:00+00')");
        givenEvent(day, set);
        return day;
    }

    private LocalDate today() {
        return LocalDate.parse(db.text("SELECT CAST((now() AT TIME ZONE 'UTC') AS date)"));
    }

    private void givenEvent(LocalDate day, String set) {
        UUID eventId = UUID.randomUUID();
        db.execute(
                "INSERT INTO billing.org_outbox (tenant_id, topic, payload, event_id, created_at) VALUES (?, ?, '{}', ?, CAST(? AS timestamptz))",
                ModuleTable.TENANT,
                ModuleTable.TOPIC,
                eventId,
                day + " 12:00:00+00");
        db.execute("UPDATE billing.org_outbox SET " + set + " WHERE event_id = ?", eventId);
    }

    private static String name(LocalDate day) {
        return "org_outbox_p" + DateTimeFormatter.BASIC_ISO_DATE.format(day);
    }

    private boolean exists(LocalDate day) {
        return db.number("SELECT COUNT(*) FROM pg_class WHERE relname = '" + name(day) + "'") == 1;
    }

    private long committed(OutboxPublisher publisher, UUID eventId) throws SQLException {
        try (Connection connection = db.dataSource.getConnection()) {
            connection.setAutoCommit(false);
            long sequence = publisher.enqueue(
                    connection, db.table, new OutboxMessage(ModuleTable.TENANT, ModuleTable.TOPIC, eventId, "{}"));
            connection.commit();
            return sequence;
        }
    }
}
