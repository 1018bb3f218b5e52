package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.relay.Relay;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Runs the statements of {@code docs/guide/migrating.md} unchanged on tables of other libraries, and delivers the
 * migrated events.
 */
@Timeout(120)
@Tag("mariadb")
class GuideMigrationTest {

    private static final Duration SECONDS = Duration.ofSeconds(30);
    private static final String FIRST = "11111111-1111-4111-8111-111111111111";
    private static final String SECOND = "22222222-2222-4222-8222-222222222222";
    private static final String THIRD = "33333333-3333-4333-8333-333333333333";

    /** The table of Modulith 2.1.1; the one of 1.4 is the same without the last three columns. */
    private static final String EVENT_PUBLICATION = """
            CREATE TABLE event_publication (
                id                     %s NOT NULL PRIMARY KEY,
                listener_id            VARCHAR(512) NOT NULL,
                event_type             VARCHAR(512) NOT NULL,
                serialized_event       VARCHAR(4000) NOT NULL,
                publication_date       %s NOT NULL,
                completion_date        %2$s NULL,
                status                 VARCHAR(20),
                completion_attempts    INT,
                last_resubmission_date %2$s NULL
            )
            """;

    /** The table that the migrations of gruelbox 4.2.268 create. */
    private static final String TXNO_OUTBOX = """
            CREATE TABLE TXNO_OUTBOX (
                id              VARCHAR(36) PRIMARY KEY,
                invocation      TEXT,
                lastAttemptTime TIMESTAMP(6) NULL,
                nextAttemptTime TIMESTAMP(6) NULL,
                attempts        INT,
                blocked         BOOLEAN,
                version         INT,
                uniqueRequestId VARCHAR(250) NULL UNIQUE,
                processed       BOOLEAN
            )
            """;

    private static final String APP_OUTBOX = """
            CREATE TABLE app_outbox (
                id        VARCHAR(36) PRIMARY KEY,
                topic     VARCHAR(100) NOT NULL,
                entity_id VARCHAR(36),
                body      TEXT NOT NULL,
                tries     INT NOT NULL,
                next_try  TIMESTAMP(6) NULL,
                created   TIMESTAMP(6) NOT NULL,
                sent      TIMESTAMP(6) NULL,
                error     VARCHAR(1000),
                locked    TIMESTAMP(6) NULL
            )
            """;

    private final Queue<String> delivered = new ConcurrentLinkedQueue<>();

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB"})
    void what_modulith_has_not_completed_is_delivered_once_per_listener(Databases database) throws Exception {
        DataSource pool = pool(database);
        boolean mariaDb = database == Databases.MARIADB;
        execute(
                pool,
                EVENT_PUBLICATION.formatted(
                        mariaDb ? "VARCHAR(36)" : "UUID", mariaDb ? "TIMESTAMP(6)" : "TIMESTAMP(6) WITH TIME ZONE"),
                publication(FIRST, "shop.Mail.on(shop.OrderPlaced)", "NULL", "FAILED"),
                publication(SECOND, "shop.Search.on(shop.OrderPlaced)", "NULL", "PROCESSING"),
                publication(THIRD, "shop.Gone.on(shop.OrderPlaced)", "'2026-11-01 10:00:01'", "COMPLETED"));

        move(pool, "From Spring Modulith");

        deliver(database, pool, 2);
        assertThat(delivered)
                .containsExactlyInAnyOrder(
                        FIRST + " mail.order.placed {\"id\":\"o-1\"}",
                        SECOND + " search.order.placed {\"id\":\"o-1\"}");
        assertThat(texts(pool, "SELECT status FROM event_publication")).containsExactly("COMPLETED");
    }

    @Test
    void a_listener_that_the_statement_does_not_name_moves_nothing() throws Exception {
        DataSource pool = pool(Databases.H2);
        execute(
                pool,
                EVENT_PUBLICATION.formatted("UUID", "TIMESTAMP(6) WITH TIME ZONE"),
                publication(FIRST, "shop.Mail.on(shop.OrderPlaced)", "NULL", "FAILED"),
                publication(SECOND, "shop.Forgotten.on(shop.OrderPlaced)", "NULL", "FAILED"));

        assertThatThrownBy(() -> move(pool, "From Spring Modulith")).isInstanceOf(SQLException.class);

        assertThat(texts(pool, "SELECT event_id FROM outbox_event")).isEmpty();
        assertThat(texts(pool, "SELECT id FROM event_publication")).hasSize(2);
    }

    private static String publication(String id, String listener, String completed, String status) {
        return """
                INSERT INTO event_publication
                VALUES ('%s', '%s', 'shop.OrderPlaced', '{"id":"o-1"}', '2026-11-01 10:00:00', %s, '%s', 12, NULL)
                """.formatted(id, listener, completed, status);
    }

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB"})
    void calls_that_gruelbox_has_not_made_are_delivered_and_blocked_ones_are_dead(Databases database) throws Exception {
        DataSource pool = pool(database);
        execute(
                pool,
                TXNO_OUTBOX,
                call(FIRST, "shop.Mail", "orderPlaced", 3, false, false),
                call(SECOND, "shop.Stock", "reserve", 7, true, false),
                call(THIRD, "shop.Mail", "orderPlaced", 1, false, true));

        move(pool, "From gruelbox");

        deliver(database, pool, 1);
        assertThat(delivered)
                .containsExactly(
                        FIRST + " mail.order.placed "
                                + "{\"c\":\"shop.Mail\",\"m\":\"orderPlaced\",\"p\":[\"String\"],\"a\":[{\"t\":\"String\",\"v\":\"o-1\"}]}");
        assertThat(texts(pool, "SELECT event_id FROM outbox_event WHERE status = 3 AND attempts = 7"))
                .containsExactly(SECOND);
        assertThat(texts(pool, "SELECT id FROM TXNO_OUTBOX")).containsExactly(THIRD);
    }

    private static String call(
            String id, String type, String method, int attempts, boolean blocked, boolean processed) {
        return """
                INSERT INTO TXNO_OUTBOX
                VALUES ('%s', '{"c":"%s","m":"%s","p":["String"],"a":[{"t":"String","v":"o-1"}]}',
                        NULL, '2026-11-01 10:00:00', %d, %b, 1, NULL, %b)
                """.formatted(id, type, method, attempts, blocked, processed);
    }

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB"})
    void what_an_outbox_of_ones_own_has_not_sent_is_delivered(Databases database) throws Exception {
        DataSource pool = pool(database);
        execute(pool, APP_OUTBOX, row(FIRST, "NULL"), row(SECOND, "'2026-11-01 10:00:01'"));

        move(pool, "From an outbox of your own");

        deliver(database, pool, 1);
        assertThat(delivered).containsExactly(FIRST + " OrderPlaced {\"id\":\"o-1\"}");
        assertThat(texts(pool, "SELECT aggregate_id FROM outbox_event")).containsExactly("o-1");
        assertThat(texts(pool, "SELECT id FROM app_outbox")).containsExactly(SECOND);
    }

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES"})
    void a_relay_works_on_an_outbox_of_ones_own_as_it_is(Databases database) throws Exception {
        DataSource pool = pool(database);
        execute(pool, APP_OUTBOX, row(FIRST, "NULL"), row(SECOND, "'2026-11-01 10:00:01'"));
        TableLayout layout = TableLayout.builder("our own", "app_outbox")
                .column(LayoutColumn.EVENT_ID, "id")
                .column(LayoutColumn.EVENT_TYPE, "topic")
                .column(LayoutColumn.AGGREGATE_ID, "entity_id")
                .column(LayoutColumn.PAYLOAD, "body")
                .column(LayoutColumn.ATTEMPTS, "tries")
                .column(LayoutColumn.AVAILABLE_AT, "next_try")
                .column(LayoutColumn.CREATED_AT, "created")
                .column(LayoutColumn.DONE_AT, "sent")
                .column(LayoutColumn.LAST_ERROR, "error")
                .column(LayoutColumn.LOCKED_AT, "locked") // added for the relay: TIMESTAMP(6), NULL
                .maxAttempts(20)
                .build();

        try (Relay relay = Relay.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(LayoutEventStore.of(pool, layout))
                .dispatcher(message -> delivered.add(message.meta().eventId() + " " + message.payload()))
                .withoutPurge()
                .build()) {
            relay.start();
            await().atMost(SECONDS)
                    .untilAsserted(() -> assertThat(texts(pool, "SELECT id FROM app_outbox WHERE sent IS NULL"))
                            .isEmpty());
        }

        assertThat(delivered).containsExactly(FIRST + " {\"id\":\"o-1\"}");
    }

    private static String row(String id, String sent) {
        return """
                INSERT INTO app_outbox
                VALUES ('%s', 'OrderPlaced', 'o-1', '{"id":"o-1"}', 2, '2026-11-01 10:00:00', '2026-11-01 09:00:00', %s, NULL, NULL)
                """.formatted(id, sent);
    }

    // ---- the page ----

    /** Runs the statements under the heading that starts with this text, in one transaction, in UTC. */
    private static void move(DataSource pool, String heading) throws SQLException, IOException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            try {
                for (String sql : statements(heading)) {
                    statement.execute(sql);
                }
                connection.commit();
            } catch (SQLException e) {
                connection.rollback();
                throw e;
            }
        }
    }

    private static List<String> statements(String heading) throws IOException {
        String page = Files.readString(Path.of("..", "docs", "guide", "migrating.md"));
        Matcher block = Pattern.compile("```sql\n(.*?)```", Pattern.DOTALL)
                .matcher(page.substring(page.indexOf("\n## " + heading)));
        assertThat(block.find()).isTrue();
        List<String> statements = new ArrayList<>();
        for (String sql : block.group(1).split(";\n", -1)) {
            if (!sql.isBlank()) {
                statements.add(sql.strip());
            }
        }
        assertThat(statements).hasSize(2);
        return statements;
    }

    // ---- databases ----

    private static DataSource pool(Databases database) {
        var pool = Databases.newPool(database.url(), 5, true);
        OutboxSchema.create(pool, database.store());
        return pool;
    }

    private static void execute(DataSource pool, String... statements) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static List<String> texts(DataSource pool, String query) throws SQLException {
        List<String> texts = new ArrayList<>();
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                texts.add(rows.getString(1));
            }
        }
        return texts;
    }

    /** Delivers until this number of events is done and none is pending. */
    private void deliver(Databases database, DataSource pool, int expected) {
        AbstractJdbcEventStore store = database.store();
        try (var dispatcher = OutboxDispatcher.builder()
                        .connectionProvider(pool::getConnection)
                        .eventStore(store)
                        .listenerRegistry((aggregateType, eventType) -> event ->
                                delivered.add(event.eventId() + " " + event.eventType() + " " + event.payloadJson()))
                        .build();
                var poller = OutboxPoller.builder()
                        .connectionProvider(pool::getConnection)
                        .eventStore(store)
                        .handler(new DispatcherPollerHandler(dispatcher))
                        .intervalMs(50)
                        .build()) {
            poller.start();
            await().atMost(SECONDS).untilAsserted(() -> {
                assertThat(texts(pool, "SELECT event_id FROM outbox_event WHERE status = 1"))
                        .hasSize(expected);
                assertThat(texts(pool, "SELECT event_id FROM outbox_event WHERE status IN (0, 2)"))
                        .isEmpty();
            });
        }
    }
}
