package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.relay.Relay;

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

/** A module's outbox in partitions by day. */
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
        assertThat(partitions.createAhead(1)).isEqualTo(1); // tomorrow; today keeps to the rest
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
    void only_a_module_on_postgresql_has_partitions() {
        LayoutEventStore other =
                LayoutEventStore.of(db.dataSource, TableLayout.textStatus("outbox_events"), new TestLead());

        assertThatThrownBy(() -> new ModulePartitions(db.dataSource, other)).hasMessageContaining("module");
        assertThatThrownBy(() -> partitions.dropOld(Duration.ofDays(-1))).hasMessageContaining("retention");
        assertThatThrownBy(() -> partitions.createAhead(-1)).hasMessageContaining("days");
    }

    /** A partition of so many days ago with one event. */
    private LocalDate givenDay(int daysAgo, String set) {
        LocalDate day = LocalDate.parse(db.text("SELECT CAST((now() AT TIME ZONE 'UTC') AS date) - " + daysAgo));
        db.execute("CREATE TABLE billing." + name(day) + " PARTITION OF billing.org_outbox FOR VALUES FROM ('" + day
                + " 00:00:00+00') TO ('" + day.plusDays(1) + " 00:00:00+00')");
        UUID eventId = UUID.randomUUID();
        db.execute(
                "INSERT INTO billing.org_outbox (tenant_id, topic, payload, event_id, created_at) VALUES (?, ?, '{}', ?, CAST(? AS timestamptz))",
                ModuleTable.TENANT,
                ModuleTable.TOPIC,
                eventId,
                day + " 12:00:00+00");
        db.execute("UPDATE billing.org_outbox SET " + set + " WHERE event_id = ?", eventId);
        return day;
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
