package outbox.testing.server;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.testing.internal.Sql.connect;
import static outbox.testing.internal.Sql.number;
import static outbox.testing.internal.Sql.update;

/** What every server of the harness promises; a product only supplies its servers. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class DatabaseServerContract {
    @AutoClose
    private DatabaseServer mine;

    abstract DatabaseServer shared();

    abstract DatabaseServer start();

    abstract String maxConnections();

    @BeforeAll
    void startPrivateServer() {
        mine = start();
    }

    @Test
    void the_shared_server_is_one_and_closing_it_leaves_it_running() throws SQLException {
        var server = shared();

        server.close();

        assertThat(shared()).isSameAs(server);
        assertThat(number(server.jdbcUrl(), "SELECT 1")).isEqualTo(1);
    }

    @Test
    void created_databases_do_not_see_each_other() throws SQLException {
        var first = shared().createDatabase();
        var second = shared().createDatabase();

        update(first, "CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)");
        update(second, "CREATE TABLE t (id INT)");

        assertThat(number(first, "SELECT count(*) FROM t")).isEqualTo(1);
        assertThat(number(second, "SELECT count(*) FROM t")).isZero();
    }

    @Test
    void a_locked_row_can_be_skipped() throws SQLException {
        var url = shared().createDatabase();
        update(url, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)");

        try (var holder = connect(url)) {
            holder.setAutoCommit(false);
            number(holder, "SELECT id FROM t WHERE id = 1 FOR UPDATE");

            assertThat(number(url, "SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"))
                    .isEqualTo(2);
        }
    }

    @Test
    void two_hundred_connections_are_allowed() throws SQLException {
        assertThat(number(mine.jdbcUrl(), maxConnections())).isEqualTo(200);
    }

    @Test
    void a_killed_server_is_gone_and_comes_back_on_its_port_with_what_was_committed() throws SQLException {
        var url = mine.createDatabase();
        update(url, "CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)");
        int port = mine.port();
        long pid = mine.pid();

        try (var open = connect(url)) {
            open.setAutoCommit(false);
            update(open, "INSERT INTO t VALUES (2)");
            mine.kill();
            assertThatThrownBy(() -> number(open, "SELECT 1")).isInstanceOf(SQLException.class);
        }

        assertThat(ProcessHandle.of(pid)).isEmpty();
        assertThatThrownBy(() -> connect(url)).isInstanceOf(SQLException.class);
        mine.restart();
        assertThat(mine.port()).isEqualTo(port);
        assertThat(mine.pid()).isNotEqualTo(pid);
        assertThat(number(url, "SELECT count(*) FROM t")).isEqualTo(1);
    }

    @Test
    void a_running_server_can_be_restarted() throws SQLException {
        long pid = mine.pid();

        mine.restart();

        assertThat(ProcessHandle.of(pid)).isEmpty();
        assertThat(number(mine.jdbcUrl(), "SELECT 1")).isEqualTo(1);
    }

    @Test
    void a_frozen_server_answers_only_after_it_was_resumed() throws Exception {
        try (var connection = connect(mine.jdbcUrl())) {
            CompletableFuture<Integer> answer;
            mine.freeze();
            try {
                answer = CompletableFuture.supplyAsync(() -> one(connection));
                assertThatThrownBy(() -> answer.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            } finally {
                mine.resume(); // other tests use it
            }
            assertThat(answer).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(1);
        }
    }

    @Test
    void closing_a_server_leaves_neither_process_nor_directory_even_if_it_is_frozen() throws IOException {
        var server = start();
        long pid = server.pid();
        var data = Path.of("/proc", Long.toString(pid), "cwd").toRealPath();
        assertThat(data).isDirectory();

        server.freeze();
        server.close();
        server.close();

        assertThat(ProcessHandle.of(pid)).isEmpty();
        assertThat(data.getParent()).doesNotExist();
        assertThatThrownBy(server::restart)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    private static int one(Connection connection) {
        try {
            return number(connection, "SELECT 1");
        } catch (SQLException e) {
            throw new CompletionException(e);
        }
    }
}
