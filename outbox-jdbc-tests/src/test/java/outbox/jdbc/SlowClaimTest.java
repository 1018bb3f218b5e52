package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.jdbc.HostileTable.Kind;

import java.time.Duration;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A claim that exceeds the time limit of the database is repeated with fewer events, and not forever with the
 * same number.
 */
@Tag("mariadb")
class SlowClaimTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(1);

    @ParameterizedTest
    @EnumSource(names = {"OUTBOX_ON_POSTGRES", "OUTBOX_ON_MARIADB"})
    void events_are_delivered_though_the_database_cannot_give_as_many_in_time_as_are_asked_for(Kind kind) {
        HostileTable table = new HostileTable(kind);
        List<Map<String, @Nullable String>> rows = table.goodRows(60);
        table.insert(rows);
        slowDownClaims(table);

        try (Node node = new Node(
                table.pool,
                kind.store(table.pool),
                dispatcher -> {},
                poller -> poller.databaseTimeout(TIMEOUT).batchSize(50))) {
            node.poller.start();
            await().atMost(Duration.ofSeconds(60)).until(() -> table.done().size() == rows.size());
        }
        assertThat(table.dead()).isEmpty();
    }

    /** Slows the claim down: 50 events take 2.5 s. */
    private static void slowDownClaims(HostileTable table) {
        if (table.kind.isMySql()) {
            table.execute("""
                    CREATE TRIGGER slow BEFORE UPDATE ON outbox_event FOR EACH ROW
                    SET NEW.attempts = IF(NEW.locked_by IS NOT NULL AND OLD.locked_by IS NULL,
                            NEW.attempts + SLEEP(0.05), NEW.attempts)
                    """);
            return;
        }
        table.execute("""
                CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM pg_sleep(0.05);
                    RETURN NEW;
                END $$""");
        table.execute("CREATE TRIGGER slow BEFORE UPDATE ON outbox_event FOR EACH ROW"
                + " WHEN (NEW.locked_by IS NOT NULL AND OLD.locked_by IS NULL) EXECUTE FUNCTION slow()");
    }
}
