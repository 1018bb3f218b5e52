package outbox.testing;

import java.util.Map;

/** A real MySQL server for tests; see {@link DatabaseServer} for what every server promises. */
public final class MySqlServer extends DatabaseServer {
    private static final SharedServer<MySqlServer> SHARED =
            new SharedServer<>(() -> new MySqlServer(GivenServer.or(Product.MYSQL, () -> local(Map.of())), true));

    private MySqlServer(ServerHost host, boolean shared) {
        super(Product.MYSQL, host, shared);
    }

    /**
     * Returns the one server of this JVM: the one named by the system property {@code outbox.mysql.url} or the
     * environment variable {@code OUTBOX_MYSQL_URL}, otherwise one that is started on the first call.
     */
    public static MySqlServer shared() {
        return SHARED.get();
    }

    /** Starts a private server with settings good for tests: commits survive its death, but not that of the machine. */
    public static MySqlServer start() {
        return start(Map.of());
    }

    /**
     * Starts a private server with further settings, such as {@code innodb-flush-log-at-trx-commit=1}; they win
     * over those of {@link #start()}.
     */
    public static MySqlServer start(Map<String, String> settings) {
        return OpenServers.add(new MySqlServer(local(settings), false));
    }

    private static ServerHost local(Map<String, String> settings) {
        return LocalServer.start(new MySqlProgram(), settings);
    }

    @Override
    String dropStatement(String database) {
        return "DROP DATABASE IF EXISTS %s".formatted(database);
    }
}
