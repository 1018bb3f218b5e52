package outbox.testing.server;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/**
 * A real database server for tests, ready to accept connections.
 *
 * <p>Each product has a {@code shared()} server and {@code start()}. There is one shared server per JVM, and it runs
 * until the JVM ends. {@code start()} returns a private server: the test may stop or kill it, and must close it.
 * Tests use {@link #createDatabase()} to stay independent of each other.
 *
 * <p>If a server is not available, the test that needs it is skipped, with the reason. The test fails instead if the
 * environment has {@code CI=true} or the system property {@code outbox.servers.required} is {@code true}. A server
 * that we start listens on a random loopback port and ends with this JVM, even if this JVM is killed. Its program is
 * unpacked once into {@code ~/.cache/outbox-test-servers}; for root, into a directory below {@code java.io.tmpdir}.
 * The system property {@code outbox.servers.cache} names another directory.
 *
 * <p>Any thread may call any method. Methods that start, stop, kill or freeze the server return after the change has
 * taken effect.
 */
public abstract sealed class DatabaseServer extends TestServer permits PostgresServer, MariaDbServer, MySqlServer {
    private final Product product;
    private final ServerHost host;
    private final boolean shared;
    private final List<String> created = new CopyOnWriteArrayList<>();

    DatabaseServer(Product product, ServerHost host, boolean shared) {
        this.product = product;
        this.host = host;
        this.shared = shared;
    }

    /** Returns the complete URL, with user, of the default database, which every server has. */
    public final String jdbcUrl() {
        return host.url().toString();
    }

    /** Returns the complete URL, with user, of a database on this server. The database need not exist yet. */
    public final String jdbcUrl(String database) {
        return host.url().withDatabase(database).toString();
    }

    /** Creates an empty database with a unique name and returns its complete URL. It is dropped with the server. */
    public final String createDatabase() {
        var name = "outbox_" + UUID.randomUUID().toString().replace("-", "").substring(0, 16);
        execute("CREATE DATABASE " + name);
        created.add(name);
        return jdbcUrl(name);
    }

    /** Returns the port of the server. */
    public final int port() {
        return host.url().port();
    }

    /**
     * Returns the id of the server's first process. It changes with a restart.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final long pid() {
        return host.pid();
    }

    /**
     * Kills all processes of the server at once, without a clean shutdown. Committed data is there after
     * {@link #restart()}. Does nothing if the server is dead.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final void kill() {
        host.kill();
    }

    /**
     * Starts the server again with the same port and data. Kills it first if it still runs.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final void restart() {
        host.restart();
    }

    /**
     * Freezes all processes of the server: connections stay open, but the server does not respond.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final void freeze() {
        host.freeze();
    }

    /**
     * Resumes a frozen server.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final void resume() {
        host.resume();
    }

    /** Stops a private server and deletes its data. Does nothing for a shared server, because other tests use it. */
    @Override
    public final void close() {
        if (!shared) {
            stop();
        }
    }

    @Override
    final void stop() {
        OpenServers.remove(this);
        if (host instanceof GivenServer) {
            created.forEach(name -> execute(dropStatement(name)));
            created.clear();
        }
        host.close();
    }

    @Override
    public final String toString() {
        return "%s at %s".formatted(product.title(), host.url().withoutParameters());
    }

    /** Returns the statement that drops a database, even if clients are still connected to it. */
    abstract String dropStatement(String database);

    final void execute(String sql) {
        try (Connection connection = DriverManager.getConnection(urlWithDriver());
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(this + " failed: " + sql, e);
        }
    }

    /**
     * Returns a URL that an available driver accepts. The MariaDB driver also works with MySQL, but it only accepts
     * {@code jdbc:mariadb:} URLs.
     */
    private String urlWithDriver() {
        return Stream.of(jdbcUrl(), jdbcUrl().replaceFirst("^jdbc:mysql:", "jdbc:mariadb:"))
                .filter(DatabaseServer::hasDriver)
                .findFirst()
                .orElseThrow(() -> product.unavailable(
                        "no JDBC driver takes its URL", "Add %s to your test class path".formatted(product.driver())));
    }

    private static boolean hasDriver(String url) {
        try {
            DriverManager.getDriver(url);
            return true;
        } catch (SQLException e) {
            return false;
        }
    }
}
