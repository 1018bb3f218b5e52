package outbox.testing.server;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.testing.fault.ChildJvm;
import outbox.testing.internal.JdbcUrl;

import java.sql.SQLException;
import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.testing.internal.Sql.number;
import static outbox.testing.internal.Sql.update;

@Tag("process")
class GivenServerTest {
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final String DATABASES = "SELECT count(*) FROM pg_database WHERE datname LIKE 'outbox_%'";

    @Test
    void a_server_named_by_its_url_is_used_left_running_and_left_clean() throws SQLException {
        try (var server = PostgresServer.start();
                var child = ChildJvm.of(UsesGivenServer.class)
                        .jvmOptions("-Doutbox.postgres.url=" + server.jdbcUrl())
                        .start()) {
            assertThat(child.awaitLine("databases", LIMIT)).isEqualTo("databases 1 on port " + server.port());

            assertThat(child.waitFor(LIMIT)).isZero();
            assertThat(number(server.jdbcUrl(), DATABASES)).isZero();
        }
    }

    @Test
    void nothing_is_done_to_the_process_of_a_given_server() {
        var server = new GivenServer(Product.POSTGRESQL, Product.POSTGRESQL.localUrl(1));

        assertThatThrownBy(server::kill).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(server::restart).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(server::freeze).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(server::resume).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(server::pid)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("PostgreSQL at jdbc:postgresql://127.0.0.1:1/postgres was given by its URL");
    }

    @Test
    void a_url_that_cannot_be_understood_is_refused_without_its_password() {
        assertThatThrownBy(() -> JdbcUrl.parse("jdbc:postgresql:orders?password=secret"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("jdbc:postgresql:orders")
                .hasMessageNotContaining("secret");
    }

    static final class UsesGivenServer {
        public static void main(String[] arguments) throws SQLException {
            var server = PostgresServer.shared();
            update(server.createDatabase(), "CREATE TABLE t (id INT)");
            System.out.println("databases %d on port %d".formatted(number(server.jdbcUrl(), DATABASES), server.port()));
        }
    }
}
