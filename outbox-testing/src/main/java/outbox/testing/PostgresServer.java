package outbox.testing;

import java.util.Map;

/** A real PostgreSQL server for tests; see {@link DatabaseServer} for what every server promises. */
public final class PostgresServer extends DatabaseServer {
    private static final SharedServer<PostgresServer> SHARED = new SharedServer<>(() ->
            new PostgresServer(GivenServer.or(Product.POSTGRESQL, () -> local(Map.of())), true));

    private PostgresServer(ServerHost host, boolean shared) {
        super(Product.POSTGRESQL, host, shared);
    }

    /**
     * Returns the one server of this JVM: the one named by the system property {@code outbox.postgres.url} or the
     * environment variable {@code OUTBOX_POSTGRES_URL}, otherwise one that is started on the first call.
     */
    public static PostgresServer shared() {
        return SHARED.get();
    }

    /** Starts a private server with settings good for tests: commits survive its death, but not that of the machine. */
    public static PostgresServer start() {
        return start(Map.of());
    }

    /**
     * Starts a private server with further settings, such as {@code fsync=on}; they win over those of
     * {@link #start()}.
     */
    public static PostgresServer start(Map<String, String> settings) {
        return OpenServers.add(new PostgresServer(local(settings), false));
    }

    private static ServerHost local(Map<String, String> settings) {
        return LocalServer.start(new PostgresProgram(PostgresUser.choose()), settings);
    }

    @Override
    String dropStatement(String database) {
        return "DROP DATABASE IF EXISTS %s WITH (FORCE)".formatted(database);
    }
}
