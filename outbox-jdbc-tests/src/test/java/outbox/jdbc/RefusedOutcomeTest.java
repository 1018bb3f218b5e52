package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The database rejects outcomes. If it rejects all for a while, they wait unchanged. If it always rejects one of
 * them, only that one waits.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("mysql")
class RefusedOutcomeTest {

    private static final String REASON = "the card was refused";

    /** A step at which the database may fail. */
    private interface Step {
        void run() throws SQLException;
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void a_dead_event_keeps_its_reason_while_the_database_is_read_only(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        Node node = node(db.dataSource(), db);

        keepsItsReason(
                db,
                node,
                () -> node.lending = connection -> connection.setReadOnly(true),
                () -> node.lending = connection -> connection.setReadOnly(false));
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"H2", "POSTGRES", "MARIADB", "MYSQL"})
    void a_dead_event_keeps_its_reason_while_its_table_is_missing(Databases database) throws SQLException {
        StoreFixture db = database.fixture();

        keepsItsReason(
                db,
                node(db.dataSource(), db),
                () -> execute(db, "ALTER TABLE outbox_event RENAME TO gone"),
                () -> execute(db, "ALTER TABLE gone RENAME TO outbox_event"));
    }

    /** Not on MySQL, because 8.0.12 denies SELECT … FOR UPDATE to a user that only has privileges on a table. */
    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB"})
    void a_dead_event_keeps_its_reason_while_a_grant_is_missing(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        AppUser app = new AppUser(database, db);

        keepsItsReason(
                db,
                node(app.pool, db),
                () -> execute(db, "REVOKE UPDATE ON outbox_event FROM " + app.name),
                () -> execute(db, "GRANT UPDATE ON outbox_event TO " + app.name));
    }

    @ParameterizedTest
    @ValueSource(strings = {"28P01", "28000", "3D000", "42000"})
    void a_dead_event_keeps_its_reason_while_nobody_can_log_in(String state) throws SQLException {
        StoreFixture db = Databases.POSTGRES.fixture();
        Node node = node(db.dataSource(), db);

        keepsItsReason(
                db,
                node,
                () -> node.lending = connection -> {
                    throw new SQLException("refused by this test", state);
                },
                () -> node.lending = connection -> {});
    }

    private static Node node(DataSource pool, StoreFixture db) {
        return new Node(pool, db.store(), d -> d.maxAttempts(1), p -> {});
    }

    private static void keepsItsReason(StoreFixture db, Node node, Step trouble, Step end) throws SQLException {
        try (node) {
            node.listener = event -> {
                trouble.run();
                throw new IllegalStateException(REASON);
            };
            EventEnvelope event = node.write("{}");
            await().atMost(30, TimeUnit.SECONDS).until(() -> node.counts.markFailures.get() >= 4);

            end.run();

            await().atMost(30, TimeUnit.SECONDS)
                    .until(() -> db.row(event.eventId()).status() == EventStatus.DEAD);
            assertThat(db.row(event.eventId()).lastError()).contains(REASON);
            assertThat(db.row(event.eventId()).attempts()).isEqualTo(1);
            assertThat(node.delivered).hasSize(1);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void an_outcome_that_a_trigger_refuses_waits_alone(Databases database) throws SQLException {
        StoreFixture db = database.fixture();
        if (database == Databases.POSTGRES) {
            execute(db, """
                    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN RAISE EXCEPTION 'not this one'; END $$
                    """);
            execute(db, """
                    CREATE TRIGGER refuse BEFORE UPDATE ON outbox_event FOR EACH ROW
                    WHEN (NEW.status = 1 AND NEW.event_type = 'Bad') EXECUTE FUNCTION refuse()
                    """);
        } else {
            execute(db, """
                    CREATE TRIGGER refuse BEFORE UPDATE ON outbox_event FOR EACH ROW
                    IF NEW.status = 1 AND NEW.event_type = 'Bad' THEN
                        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one';
                    END IF
                    """);
        }

        waitsAlone(
                db,
                Node.withLease(db.dataSource(), db.store(), Duration.ofSeconds(2)),
                () -> execute(
                        db,
                        database == Databases.POSTGRES
                                ? "DROP TRIGGER refuse ON outbox_event"
                                : "DROP TRIGGER refuse"));
    }

    @Test
    void an_outcome_that_row_level_security_refuses_waits_alone() throws SQLException {
        StoreFixture db = Databases.POSTGRES.fixture();
        AppUser app = new AppUser(Databases.POSTGRES, db);
        execute(db, "ALTER TABLE outbox_event ENABLE ROW LEVEL SECURITY");
        execute(db, """
                CREATE POLICY app_policy ON outbox_event TO %s
                USING (true) WITH CHECK (status <> 1 OR event_type <> 'Bad')
                """.formatted(app.name));

        waitsAlone(
                db,
                Node.withLease(app.pool, db.store(), Duration.ofSeconds(2)),
                () -> execute(db, "ALTER TABLE outbox_event DISABLE ROW LEVEL SECURITY"));
    }

    private static void waitsAlone(StoreFixture db, Node node, Step end) throws SQLException {
        try (node) {
            node.poller.start();
            EventEnvelope bad = node.write(node.writer, EventEnvelope.ofJson("Bad", "{}"));
            long done = 0;
            for (long start = System.nanoTime(); System.nanoTime() - start < TimeUnit.SECONDS.toNanos(5); ) {
                // several share a group with the rejected one, if that is possible
                for (int i = 0; i < 20; i++) {
                    node.write("{}");
                }
                done += 20;
                long expected = done;
                await().atMost(Duration.ofSeconds(1)).until(() -> db.count("status = 1") == expected);
            }
            assertThat(db.row(bad.eventId()).status()).isEqualTo(EventStatus.NEW);
            assertThat(node.counts.lostClaims).hasValue(0);

            end.run();

            await().atMost(10, TimeUnit.SECONDS)
                    .until(() -> db.row(bad.eventId()).status() == EventStatus.DONE);
            assertThat(node.deliveredIds()).doesNotHaveDuplicates().hasSize((int) done + 1);
        }
    }

    private static void execute(StoreFixture db, String sql) throws SQLException {
        try (Connection connection = db.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** A database user with the privileges that an application needs, and no others. */
    private static final class AppUser {

        private final String name;
        private final HikariDataSource pool;

        AppUser(Databases database, StoreFixture db) throws SQLException {
            String url = ((HikariDataSource) db.dataSource()).getJdbcUrl();
            String plain = "app" + Long.toHexString(System.nanoTime());
            if (database == Databases.POSTGRES) {
                name = plain;
                execute(db, "CREATE ROLE " + name);
                execute(db, "GRANT ALL ON ALL TABLES IN SCHEMA public TO " + name);
                execute(db, "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO " + name);
                pool = Databases.newPool(url + (url.contains("?") ? "&" : "?") + "options=-c%20role=" + name, 10, true);
            } else {
                name = "'" + plain + "'@'localhost'"; // MariaDB has an anonymous user on localhost
                execute(db, "CREATE USER " + name + " IDENTIFIED BY 'secret'");
                execute(db, "GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_event TO " + name);
                pool = Databases.newPool(url.replaceAll("user=root", "user=" + plain + "&password=secret"), 10, true);
            }
        }
    }
}
