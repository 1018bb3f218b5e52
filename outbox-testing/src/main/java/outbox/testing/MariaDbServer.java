package outbox.testing;

import java.util.Map;

/** A real MariaDB server for tests; see {@link DatabaseServer} for what every server promises. */
public final class MariaDbServer extends DatabaseServer {
    private static final SharedServer<MariaDbServer> SHARED =
            new SharedServer<>(() -> new MariaDbServer(GivenServer.or(Product.MARIADB, () -> local(Map.of())), true));

    private MariaDbServer(ServerHost host, boolean shared) {
        super(Product.MARIADB, host, shared);
    }

    /**
     * Returns the one server of this JVM: the one named by the system property {@code outbox.mariadb.url} or the
     * environment variable {@code OUTBOX_MARIADB_URL}, otherwise one that is started on the first call.
     */
    public static MariaDbServer shared() {
        return SHARED.get();
    }

    /** Starts a private server with settings good for tests: commits survive its death, but not that of the machine. */
    public static MariaDbServer start() {
        return start(Map.of());
    }

    /**
     * Starts a private server with further settings, such as {@code innodb-flush-log-at-trx-commit=1}; they win
     * over those of {@link #start()}.
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
