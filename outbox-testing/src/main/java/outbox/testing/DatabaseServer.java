package outbox.testing;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A real database server for tests, ready to take connections.
 *
 * <p>Each product has a {@code shared()} server, one per JVM, which lives until the JVM ends, and {@code start()} for a
 * private one that a test may treat as it likes and must close. Tests keep apart by {@link #createDatabase()}.
 *
 * <p>A server that cannot be had skips the test that asks for it, with the reason; where the environment says
 * {@code CI=true} or the system property {@code outbox.servers.required} is {@code true}, it fails the test instead.
 * A server that we start listens on a random loopback port, and goes with this JVM however that ends. Its program is
 * unpacked once into {@code ~/.cache/outbox-test-servers}, for root into a directory below {@code java.io.tmpdir}, or
 * where the system property {@code outbox.servers.cache} says.
 *
 * <p>Any thread may call any method. Methods that change the life of the server return when that has taken effect.
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

    /** Returns the complete URL, with user, of the database that every server has from the start. */
    public final String jdbcUrl() {
        return host.url().toString();
    }

    /** Returns the complete URL, with user, of a database of this server, which need not exist yet. */
    public final String jdbcUrl(String database) {
        return host.url().withDatabase(database).toString();
    }

    /** Creates an empty database with a name of its own and returns its complete URL. It is dropped with the server. */
    public final String createDatabase() {
        var name = "outbox_" + UUID.randomUUID().toString().replace("-", "").substring(0, 16);
        execute("CREATE DATABASE " + name);
        created.add(name);
        return jdbcUrl(name);
    }

    /** Returns the port that the server listens on. */
    public final int port() {
        return host.url().port();
    }

    /**
     * Returns the id of the server's first process, which a restart changes.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final long pid() {
        return host.pid();
    }

    /**
     * Kills all processes of the server at once, with no chance to tidy up; what was committed is there after
     * {@link #restart()}. Does nothing to a dead server.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final void kill() {
        host.kill();
    }

    /**
     * Starts the server again on the same port and data, after killing it if it still runs.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final void restart() {
        host.restart();
    }

    /**
     * Stops all processes of the server where they stand: connections stay open and nothing answers.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final void freeze() {
        host.freeze();
    }

    /**
     * Lets a frozen server go on.
     *
     * @throws UnsupportedOperationException if the server was given by its URL
     */
    public final void resume() {
        host.resume();
    }

    /** Ends a private server and deletes its data; does nothing to a shared one, which others still use. */
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

    /** The statement that drops a database though somebody may still be connected to it. */
    abstract String dropStatement(String database);

    private void execute(String sql) {
        requireDriver();
        try (Connection connection = DriverManager.getConnection(jdbcUrl());
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(this + " failed: " + sql, e);
        }
    }

    private void requireDriver() {
        try {
            DriverManager.getDriver(jdbcUrl());
        } catch (SQLException e) {
            var unavailable = Unavailable.because(
                    product,
                    "no JDBC driver takes its URL",
                    "Add %s to your test class path".formatted(product.driver()));
            unavailable.initCause(e);
            throw unavailable;
        }
    }
}
