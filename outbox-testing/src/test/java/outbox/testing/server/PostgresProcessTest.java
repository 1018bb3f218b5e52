package outbox.testing.server;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.SQLException;
import java.util.Map;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.testing.internal.Sql.number;

/** What is special about PostgreSQL: many processes, settings by name, and a refusal to run as root. */
class PostgresProcessTest {
    @AfterEach
    void useTheCommonCacheAgain() {
        System.clearProperty(ServerCache.LOCATION);
    }

    @Test
    void given_settings_win_over_the_defaults() throws SQLException {
        try (var server = PostgresServer.start(Map.of("fsync", "on", "max_connections", "7"))) {
            assertThat(number(server.jdbcUrl(), "SELECT current_setting('max_connections')::int"))
                    .isEqualTo(7);
            assertThat(number(server.jdbcUrl(), "SELECT current_setting('fsync')::bool::int"))
                    .isEqualTo(1);
        }
    }

    @Test
    void a_server_that_ends_during_its_start_says_why() {
        assertThatThrownBy(() -> PostgresServer.start(Map.of("no_such_setting", "on")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("PostgreSQL ended during its start")
                .hasMessageContaining("no_such_setting");
    }

    @Test
    void a_kill_leaves_none_of_its_processes_behind_not_even_uncollected() {
        try (var server = PostgresServer.start()) {
            var children =
                    ProcessHandle.of(server.pid()).orElseThrow().children().toList();
            assertThat(children).isNotEmpty();

            server.kill();

            assertThat(children).noneMatch(ProcessHandle::isAlive);
        }
    }

    @ParameterizedTest
    @MethodSource("waysForThisUser")
    void every_way_to_be_an_ordinary_user_initialises_runs_and_restarts(PostgresUser user, @TempDir Path cache)
            throws IOException, SQLException {
        Files.setPosixFilePermissions(cache, PosixFilePermissions.fromString("rwxr-xr-x"));
        System.setProperty(ServerCache.LOCATION, cache.toString());

        try (var server = LocalServer.start(new PostgresProgram(user), Map.of())) {
            assertThat(number(server.url().toString(), "SELECT 1")).isEqualTo(1);
            server.restart();
            assertThat(number(server.url().toString(), "SELECT 1")).isEqualTo(1);
        }
    }

    static Stream<PostgresUser> waysForThisUser() {
        var fallback = LinuxUser.isRoot() ? PostgresUser.NOBODY : PostgresUser.SAME;
        return Stream.of(PostgresUser.choose(), fallback).distinct();
    }
}
