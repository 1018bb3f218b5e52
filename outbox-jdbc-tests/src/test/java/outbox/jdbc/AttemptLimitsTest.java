package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.admin.AdminRequest;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.OptionalInt;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** The database stores the limit of attempts of a module's table. */
@Timeout(60)
class AttemptLimitsTest {

    private final ModuleTable db = new ModuleTable("public.org_outbox", 3);

    private OptionalInt recorded() {
        return AttemptLimits.recorded(db.dataSource, TableLayout.module(db.table));
    }

    /** Claims events, as a relay does at its start and later. */
    private static int claim(ModuleTable db, LayoutEventStore store) throws SQLException {
        try (Connection connection = db.dataSource.getConnection()) {
            connection.setAutoCommit(false);
            Instant now = store.now(connection);
            int claimed = store.claim(connection, new Claim("node", 1), ClaimRequest.of(now, now.minusSeconds(60), 100))
                    .size();
            connection.commit();
            return claimed;
        }
    }

    private UUID insert(int attempts) {
        UUID id = db.insert("{}");
        db.execute("UPDATE org_outbox SET attempts = ? WHERE event_id = ?", attempts, id);
        return id;
    }

    private AdminRequest request(UUID id) {
        return AdminRequest.builder()
                .eventIds(List.of(id.toString()))
                .actor("op")
                .reason("test")
                .confirmed(true)
                .build();
    }

    @Test
    void the_first_relay_writes_its_limit_and_writers_write_none() throws Exception {
        assertThat(recorded()).isEmpty();
        insert(0);
        assertThat(recorded()).isEmpty();

        claim(db, db.store);
        claim(db, db.store(3));

        assertThat(recorded()).hasValue(3);
        assertThat(db.text("SELECT table_name || ' ' || max_attempts FROM public.outbox_attempt_limit"))
                .isEqualTo("org_outbox 3");
    }

    @Test
    void a_relay_with_another_limit_is_refused_each_time_and_claims_nothing() throws Exception {
        claim(db, db.store);
        insert(0);
        LayoutEventStore other = db.store(25);

        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> claim(db, other))
                    .isInstanceOf(EventStoreException.class)
                    .hasMessageContaining("dead after 3 attempts")
                    .hasMessageContaining("is 25")
                    .hasMessageContaining("outbox schema apply --table public.org_outbox --max-attempts 25");
        }
        assertThat(db.count("locked_at IS NOT NULL")).isZero();
    }

    @Test
    void an_operator_with_another_limit_changes_nothing() throws Exception {
        AttemptLimits.change(db.dataSource, TableLayout.module(db.table));
        assertThat(recorded()).hasValue(25);
        UUID fifth = insert(5);
        LayoutEventStore other = db.store(5);
        OutboxAdmin admin = new OutboxAdmin(db.dataSource::getConnection, other);

        assertThatThrownBy(() -> admin.discard(request(fifth))).hasMessageContaining("dead after 25 attempts");
        assertThatThrownBy(() -> admin.replay(request(fifth))).hasMessageContaining("dead after 25 attempts");
        assertThatThrownBy(admin::statistics).hasMessageContaining("dead after 25 attempts");
        try (Connection connection = db.dataSource.getConnection()) {
            assertThatThrownBy(() -> other.discard(connection, List.of(fifth.toString())))
                    .hasMessageContaining("dead after 25 attempts");
            assertThatThrownBy(() -> other.purge(connection, EventStatus.DEAD, Instant.MAX, 10))
                    .hasMessageContaining("dead after 25 attempts");
        }
        assertThat(db.row(fifth)).isEqualTo(new ModuleTable.Row(false, 5, false, null));
    }

    @Test
    void a_change_lets_the_dead_be_dead_and_the_pending_be_pending() throws Exception {
        claim(db, db.store); // stores the limit 3
        UUID fresh = insert(0);
        UUID tried = insert(2);
        UUID dead = insert(3);
        UUID done = insert(3);
        db.execute("UPDATE org_outbox SET published_at = now() WHERE event_id = ?", done);

        AttemptLimits.change(db.dataSource, TableLayout.module(db.table).withMaxAttempts(10));

        assertThat(recorded()).hasValue(10);
        assertThat(List.of(
                        db.row(fresh).attempts(),
                        db.row(tried).attempts(),
                        db.row(dead).attempts()))
                .containsExactly(0, 2, 10);
        assertThat(db.row(done).attempts()).isEqualTo(3);

        AttemptLimits.change(db.dataSource, TableLayout.module(db.table).withMaxAttempts(2));

        assertThat(List.of(
                        db.row(fresh).attempts(),
                        db.row(tried).attempts(),
                        db.row(dead).attempts()))
                .containsExactly(0, 1, 10);
        assertThat(claim(db, db.store(2))).isEqualTo(2);
    }

    @Test
    void a_table_without_limits_is_relayed_as_before() throws Exception {
        db.execute("DROP TABLE public.outbox_attempt_limit");
        insert(0);

        assertThat(claim(db, db.store)).isEqualTo(1);
        assertThat(recorded()).isEmpty();
        assertThatThrownBy(() -> AttemptLimits.change(db.dataSource, db.store.layout()))
                .hasMessageContaining("outbox schema apply --table public.org_outbox");

        LayoutSchema.create(db.dataSource, db.store); // does the same as that command
        claim(db, db.store(3));
        assertThat(recorded()).hasValue(3);
    }

    @Test
    void a_user_who_may_not_read_the_limits_relays_as_before() throws Exception {
        insert(0);
        // unique, because roles belong to the whole server
        String role = "relay_" + UUID.randomUUID().toString().replace("-", "");
        db.execute("CREATE ROLE " + role);
        db.execute("GRANT ALL ON org_outbox TO " + role);
        try (Connection connection = db.dataSource.getConnection()) {
            connection.setAutoCommit(false);
            connection.createStatement().execute("SET LOCAL ROLE " + role);
            Instant now = db.store.now(connection);

            assertThat(db.store.claim(
                            connection, new Claim("node", 1), ClaimRequest.of(now, now.minusSeconds(60), 100)))
                    .hasSize(1);
            connection.rollback();
        } finally {
            db.execute("REVOKE ALL ON org_outbox FROM " + role);
            db.execute("DROP ROLE " + role);
        }
    }

    @Test
    void two_spellings_of_a_table_have_one_limit_and_tables_of_one_name_in_two_schemas_have_two() throws Exception {
        claim(db, db.store);
        db.execute("CREATE SCHEMA hr");
        LayoutEventStore other = LayoutEventStore.of(
                db.dataSource, TableLayout.module("hr.org_outbox").withMaxAttempts(7));
        LayoutSchema.create(db.dataSource, other);

        claim(db, other);

        assertThat(AttemptLimits.recorded(db.dataSource, TableLayout.module("org_outbox")))
                .hasValue(3);
        assertThat(AttemptLimits.recorded(db.dataSource, TableLayout.module("hr.org_outbox")))
                .hasValue(7);
        assertThat(AttemptLimits.recorded(db.dataSource, TableLayout.textStatus("outbox_events")))
                .isEmpty();
    }
}
