package outbox.testing.fault;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.testing.server.DatabaseServer;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.function.Supplier;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Named.named;
import static outbox.testing.internal.Sql.connect;
import static outbox.testing.internal.Sql.number;
import static outbox.testing.internal.Sql.update;

/** The fault that matters most to an outbox: a commit whose outcome the client cannot know. */
@Tag("mariadb")
@Tag("mysql")
class FaultProxyCommitTest {
    private static final Duration LIMIT = Duration.ofSeconds(10);

    @ParameterizedTest
    @MethodSource("servers")
    void a_commit_whose_reply_was_swallowed_has_happened(Supplier<DatabaseServer> server) throws SQLException {
        var url = tableOn(server.get());
        try (var proxy = FaultProxy.to(server.get());
                var connection = connect(proxy.through(url))) {
            insert(connection);
            var cut = proxy.swallowReplyAfter("COMMIT");

            assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);

            assertThat(cut).succeedsWithin(LIMIT);
            assertThat(number(url, "SELECT count(*) FROM t")).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @MethodSource("servers")
    void a_commit_that_was_cut_off_has_not_happened(Supplier<DatabaseServer> server) throws SQLException {
        var url = tableOn(server.get());
        try (var proxy = FaultProxy.to(server.get());
                var connection = connect(proxy.through(url))) {
            insert(connection);
            var cut = proxy.cutBefore("COMMIT");

            assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);

            assertThat(cut).succeedsWithin(LIMIT);
            assertThat(number(url, "SELECT count(*) FROM t")).isZero();
        }
    }

    @Test
    void every_commit_of_a_postgresql_connection_is_recognised_if_its_driver_does_not_prepare_it() throws SQLException {
        var url = tableOn(PostgresServer.shared()) + "&prepareThreshold=0";
        try (var proxy = FaultProxy.to(PostgresServer.shared());
                var connection = connect(proxy.through(url))) {
            connection.setAutoCommit(false);
            for (int id = 2; id <= 10; id++) {
                update(connection, "INSERT INTO t VALUES (%d)".formatted(id));
                connection.commit();
            }
            insert(connection);
            var cut = proxy.cutBefore("COMMIT");

            assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);

            assertThat(cut).succeedsWithin(LIMIT);
            assertThat(number(url, "SELECT count(*) FROM t")).isEqualTo(9);
        }
    }

    static Stream<Named<Supplier<DatabaseServer>>> servers() {
        return Stream.of(
                named("PostgreSQL", PostgresServer::shared),
                named("MariaDB", MariaDbServer::shared),
                named("MySQL", MySqlServer::shared));
    }

    private static String tableOn(DatabaseServer server) throws SQLException {
        var url = server.createDatabase();
        update(url, "CREATE TABLE t (id INT PRIMARY KEY)");
        return url;
    }

    private static void insert(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        update(connection, "INSERT INTO t VALUES (1)");
    }
}
