package outbox.jdbc;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.testing.contract.StoreFixture;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Stream;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests with the newest H2 version and the versions that Spring Boot uses. The build copies them to {@code target}.
 * There is no pool: each use opens its own connection, so the connection that created the table is closed before the
 * first insert.
 */
class H2VersionsTest {

    static List<Path> jars() throws IOException {
        try (Stream<Path> jars = Files.list(Path.of("target", "h2-versions"))) {
            List<Path> found = jars.sorted().toList();
            assertThat(found).hasSizeGreaterThanOrEqualTo(3);
            return found;
        }
    }

    @ParameterizedTest
    @MethodSource("jars")
    void events_are_delivered_after_the_connection_that_created_the_table_was_closed(Path jar) throws Exception {
        try (URLClassLoader h2 = loader(jar)) {
            DataSource dataSource = database(h2, "delivered");
            AbstractJdbcEventStore store = new H2EventStore();
            OutboxSchema.create(dataSource, store, Capability.values());

            assertDelivery(dataSource, store);
        }
    }

    /** Tables of earlier library versions have such constraints. */
    @ParameterizedTest
    @MethodSource("jars")
    void a_table_that_has_constraints_loses_them(Path jar) throws Exception {
        try (URLClassLoader h2 = loader(jar)) {
            DataSource dataSource = database(h2, "constraints");
            AbstractJdbcEventStore store = new H2EventStore();
            OutboxSchema.create(dataSource, store);
            execute(dataSource, "ALTER TABLE outbox_event ADD CONSTRAINT outbox_event_status CHECK (status IN (1, 7))");
            execute(dataSource, "ALTER TABLE outbox_event ADD CONSTRAINT outbox_event_lease CHECK (locked_by IS NULL)");

            OutboxSchema.create(dataSource, store);

            assertDelivery(dataSource, store);
        }
    }

    @ParameterizedTest
    @MethodSource("jars")
    void a_table_that_is_in_use_can_be_created_again(Path jar) throws Exception {
        try (URLClassLoader h2 = loader(jar)) {
            DataSource dataSource = database(h2, "again");
            AbstractJdbcEventStore store = new H2EventStore();
            OutboxSchema.create(dataSource, store);
            StoreFixture db = new StoreFixture(dataSource, store, "outbox_event", false);

            db.inTransaction(connection -> {
                store.insertNew(connection, EventEnvelope.ofJson("T", "{}"));
                OutboxSchema.create(dataSource, store);
            });

            assertThat(db.count("1 = 1")).isEqualTo(1);
        }
    }

    private static void assertDelivery(DataSource dataSource, AbstractJdbcEventStore store) throws Exception {
        StoreFixture db = new StoreFixture(dataSource, store, "outbox_event", false);
        try (Node node = new Node(dataSource, store)) {
            EventEnvelope hot = node.write("{}");
            EventEnvelope cold = node.writeCold("{}");
            node.poller.poll();

            await().until(() -> Stream.of(hot, cold)
                    .allMatch(event -> db.row(event.eventId()).status() == EventStatus.DONE));
        }
    }

    private static URLClassLoader loader(Path jar) throws IOException {
        return new URLClassLoader(new URL[] {jar.toUri().toURL()}, ClassLoader.getPlatformClassLoader());
    }

    private static DataSource database(ClassLoader h2, String name) throws ReflectiveOperationException {
        DataSource dataSource = (DataSource) h2.loadClass("org.h2.jdbcx.JdbcDataSource")
                .getDeclaredConstructor()
                .newInstance();
        dataSource
                .getClass()
                .getMethod("setURL", String.class)
                .invoke(dataSource, "jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1");
        return dataSource;
    }

    private static void execute(DataSource dataSource, String sql) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
