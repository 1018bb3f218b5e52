package outbox.testing.server;

import outbox.testing.internal.Unavailable;

import java.util.Map;

/** A real PostgreSQL server for tests. See {@link DatabaseServer} for the behaviour of all servers. */
public final class PostgresServer extends DatabaseServer {
    private static final SharedServer<PostgresServer> SHARED = new SharedServer<>(() ->
            new PostgresServer(GivenServer.or(Product.POSTGRESQL, () -> local(Map.of())), true));

    private PostgresServer(ServerHost host, boolean shared) {
        super(Product.POSTGRESQL, host, shared);
    }

    /**
     * Returns the shared server of this JVM. This is the server named by the system property
     * {@code outbox.postgres.url} or the environment variable {@code OUTBOX_POSTGRES_URL}; otherwise the first call
     * starts one.
     */
    public static PostgresServer shared() {
        return SHARED.get();
    }

    /**
     * Starts a private server with settings for tests: commits survive a crash of the server, but not of
     * the machine.
     */
    public static PostgresServer start() {
        return start(Map.of());
    }

    /**
     * Starts a private server with additional settings, such as {@code fsync=on}. They override those
     * of {@link #start()}.
     */
    public static PostgresServer start(Map<String, String> settings) {
        return OpenServers.add(new PostgresServer(local(settings), false));
    }

    /**
     * Starts a private server that stores new tables and indexes on a disk of this size, but not its catalogs
     * and its log. The disk is in memory and disappears with the server process, so {@link #restart()} loses
     * those tables.
     */
    public static PostgresServer startWithSmallDisk(int mebibytes) {
        var user = PostgresUser.choose();
        if (user != PostgresUser.NAMESPACE) {
            throw Unavailable.because(
                    Product.POSTGRESQL.title(),
                    "this system forbids user namespaces, in which a small disk is mounted",
                    "Allow them");
        }
        var host = LocalServer.start(new PostgresProgram(user, mebibytes), Map.of("default_tablespace", "small"));
        var server = OpenServers.add(new PostgresServer(host, false));
        var disk = PostgresProgram.disk(host.data());
        server.execute("CREATE TABLESPACE small LOCATION '" + disk + "'");
        return server;
    }

    private static ServerHost local(Map<String, String> settings) {
        return LocalServer.start(new PostgresProgram(PostgresUser.choose()), settings);
    }

    @Override
    String dropStatement(String database) {
        return "DROP DATABASE IF EXISTS %s WITH (FORCE)".formatted(database);
    }
}
