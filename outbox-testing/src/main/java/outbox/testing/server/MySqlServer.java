package outbox.testing.server;

import java.util.Map;

/** A real MySQL server for tests. See {@link DatabaseServer} for the behaviour of all servers. */
public final class MySqlServer extends DatabaseServer {
    private static final SharedServer<MySqlServer> SHARED =
            new SharedServer<>(() -> new MySqlServer(GivenServer.or(Product.MYSQL, () -> local(Map.of())), true));

    private MySqlServer(ServerHost host, boolean shared) {
        super(Product.MYSQL, host, shared);
    }

    /**
     * Returns the shared server of this JVM. This is the server named by the system property
     * {@code outbox.mysql.url} or the environment variable {@code OUTBOX_MYSQL_URL}; otherwise the first call
     * starts one.
     */
    public static MySqlServer shared() {
        return SHARED.get();
    }

    /**
     * Starts a private server with settings for tests: commits survive a crash of the server, but not of
     * the machine.
     */
    public static MySqlServer start() {
        return start(Map.of());
    }

    /**
     * Starts a private server with additional settings, which override those of {@link #start()}. Use
     * {@code innodb-flush-log-at-trx-commit=1} and {@code innodb-flush-method=fsync} to flush commits to disk.
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
