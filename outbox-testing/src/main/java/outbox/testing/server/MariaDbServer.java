package outbox.testing.server;

import java.util.Map;

/** A real MariaDB server for tests. See {@link DatabaseServer} for the behaviour of all servers. */
public final class MariaDbServer extends DatabaseServer {
    private static final SharedServer<MariaDbServer> SHARED =
            new SharedServer<>(() -> new MariaDbServer(GivenServer.or(Product.MARIADB, () -> local(Map.of())), true));

    private MariaDbServer(ServerHost host, boolean shared) {
        super(Product.MARIADB, host, shared);
    }

    /**
     * Returns the shared server of this JVM. This is the server named by the system property
     * {@code outbox.mariadb.url} or the environment variable {@code OUTBOX_MARIADB_URL}; otherwise the first call
     * starts one.
     */
    public static MariaDbServer shared() {
        return SHARED.get();
    }

    /**
     * Starts a private server with settings for tests: commits survive a crash of the server, but not of
     * the machine.
     */
    public static MariaDbServer start() {
        return start(Map.of());
    }

    /**
     * Starts a private server with additional settings, which override those of {@link #start()}. Use
     * {@code innodb-flush-log-at-trx-commit=1} and {@code innodb-flush-method=O_DIRECT} to flush commits to disk.
     */
    public static MariaDbServer start(Map<String, String> settings) {
        return OpenServers.add(new MariaDbServer(local(settings), false));
    }

    private static ServerHost local(Map<String, String> settings) {
        return LocalServer.start(new MariaDbProgram(), settings);
    }

    @Override
    String dropStatement(String database) {
        return "DROP DATABASE IF EXISTS %s".formatted(database);
    }
}
