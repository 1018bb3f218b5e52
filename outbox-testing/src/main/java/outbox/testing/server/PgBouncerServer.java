package outbox.testing.server;

import outbox.testing.internal.JdbcUrl;
import outbox.testing.internal.Loopback;
import outbox.testing.internal.Unavailable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * PgBouncer in transaction mode in front of a PostgreSQL server: each transaction of a client may run in a different
 * server session. The program comes from the package {@code pgbouncer}. A PgBouncer that the system already runs is
 * never used.
 *
 * <p>Any thread may call any method.
 */
public final class PgBouncerServer extends TestServer {
    private static final Path PROGRAM = Path.of("/usr/sbin/pgbouncer");

    /** Uses few server sessions, so that clients must share them. */
    private static final String CONFIGURATION = """
            [databases]
            * = host=%s port=%d user=postgres
            [pgbouncer]
            listen_addr = %s
            listen_port = %d
            unix_socket_dir =
            auth_type = any
            pool_mode = transaction
            default_pool_size = 5
            max_client_conn = 500
            ignore_startup_parameters = extra_float_digits
            """;

    private static final RunnableServer BOUNCER = new RunnableServer() {
        @Override
        public String title() {
            return "PgBouncer";
        }

        @Override
        public String id() {
            return "pgbouncer";
        }

        @Override
        public String readyText() {
            return "process up";
        }

        @Override
        public void stop(ProcessHandle server) {
            server.destroy();
        }
    };

    private final int port = Loopback.freePort();
    private final Path directory;
    private final ServerRun run;

    private PgBouncerServer(PostgresServer server) {
        JdbcUrl target = JdbcUrl.parse(server.jdbcUrl());
        PostgresUser user = PostgresUser.choose(); // PgBouncer also refuses to run as root
        try {
            directory = Files.createTempDirectory("outbox-pgbouncer-");
            Path configuration = directory.resolve("pgbouncer.ini");
            Files.writeString(
                    configuration, CONFIGURATION.formatted(target.host(), target.port(), Loopback.HOST, port));
            user.own(directory);
            run = new ServerRun(
                    BOUNCER, user.command(List.of(PROGRAM.toString(), configuration.toString())), directory);
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot configure PgBouncer", e);
        }
    }

    /**
     * Starts PgBouncer in front of a server. The server must accept the user {@code postgres} without a password.
     */
    public static PgBouncerServer inFrontOf(PostgresServer server) {
        if (!Files.isExecutable(PROGRAM)) {
            throw Unavailable.because(
                    "PgBouncer", "there is no " + PROGRAM, "Install the package pgbouncer of Debian or Ubuntu");
        }
        return OpenServers.add(new PgBouncerServer(server));
    }

    /** Converts a URL that connects directly to the server into one that connects through PgBouncer. */
    public String through(String jdbcUrl) {
        String url = JdbcUrl.parse(jdbcUrl).withAddress(Loopback.HOST, port).toString();
        // no named statements: a prepared statement exists only in the session that prepared it
        return url + (url.contains("?") ? "&" : "?") + "prepareThreshold=0";
    }

    @Override
    public void close() {
        stop();
    }

    @Override
    void stop() {
        OpenServers.remove(this);
        run.stop();
        try {
            FileTree.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot delete the directory of PgBouncer", e);
        }
    }
}
