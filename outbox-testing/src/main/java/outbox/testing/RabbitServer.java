package outbox.testing;

import java.util.UUID;

/**
 * A real RabbitMQ node for tests, with its management plugin, ready to take connections of {@code guest}.
 *
 * <p>There is a {@link #shared()} node, one per JVM, which lives until the JVM ends, and {@link #start()} for a private one that a test may treat as it likes and must close. Tests
 * keep apart by {@link #createVirtualHost()}. The program is that of the system; a broker that the system runs is never used. Everything else is as with {@link DatabaseServer}.
 *
 * <p>Any thread may call any method. Methods that change the life of the node return when that has taken effect.
 */
public final class RabbitServer extends TestServer {
    private static final SharedServer<RabbitServer> SHARED =
            new SharedServer<>(() -> new RabbitServer(RabbitNode.start(), true));

    private final RabbitNode node;
    private final boolean shared;

    private RabbitServer(RabbitNode node, boolean shared) {
        this.node = node;
        this.shared = shared;
    }

    /** Returns the one node of this JVM, which is started on the first call. */
    public static RabbitServer shared() {
        return SHARED.get();
    }

    /** Starts a private node. */
    public static RabbitServer start() {
        return OpenServers.add(new RabbitServer(RabbitNode.start(), false));
    }

    /** Returns the URI, with user, of the virtual host that every node has from the start. */
    public String uri() {
        return uri("%2f");
    }

    /** Returns the URI, with user, of a virtual host of this node, which need not exist yet. */
    public String uri(String virtualHost) {
        return "amqp://guest:guest@%s:%d/%s".formatted(Loopback.HOST, node.port(), virtualHost);
    }

    /** Creates an empty virtual host and returns its name. */
    public String createVirtualHost() {
        var name = "outbox-" + UUID.randomUUID().toString().substring(0, 8);
        node.management("PUT", "vhosts/" + name, "{}");
        node.management(
                "PUT", "permissions/" + name + "/guest", "{\"configure\":\".*\",\"write\":\".*\",\"read\":\".*\"}");
        return name;
    }

    /** Returns the port of AMQP. */
    public int port() {
        return node.port();
    }

    /** Returns the port of the management plugin. */
    public int managementPort() {
        return node.managementPort();
    }

    /** Returns what the management plugin answers to GET of this path below {@code /api/}, as JSON. */
    public String management(String path) {
        return node.management("GET", path, "");
    }

    /** Returns the id of the node's process, which a restart changes. */
    public long pid() {
        return node.pid();
    }

    /** Kills the node at once, with no chance to tidy up; what it confirmed is there after {@link #restart()}. Does nothing to a dead node. */
    public void kill() {
        node.kill();
    }

    /** Ends the node in order, so that it tells its clients; {@link #restart()} brings it back. */
    public void shutDown() {
        node.shutDown();
    }

    /** Starts the node again on the same ports and data, after killing it if it still runs. */
    public void restart() {
        node.restart();
    }

    /** Stops the node where it stands: connections stay open and nothing answers. */
    public void freeze() {
        node.freeze();
    }

    /** Lets a frozen node go on. */
    public void resume() {
        node.resume();
    }

    /** Raises the memory alarm, which blocks every connection that publishes. A restart clears it. */
    public void raiseMemoryAlarm() {
        node.control("set_vm_memory_high_watermark", "0");
    }

    public void clearMemoryAlarm() {
        node.control("set_vm_memory_high_watermark", "0.6");
    }

    /** Has the node close all connections of one virtual host. */
    public void closeConnections(String virtualHost) {
        node.control("close_all_connections", "--vhost", virtualHost, "closed by a test");
    }

    /** Runs {@code rabbitmqctl} for this node, which takes about two seconds, and returns what it printed. */
    public String control(String... arguments) {
        return node.control(arguments);
    }

    /** Ends a private node and deletes its data; does nothing to a shared one, which others still use. */
    @Override
    public void close() {
        if (!shared) {
            stop();
        }
    }

    @Override
    void stop() {
        OpenServers.remove(this);
        node.close();
    }

    @Override
    public String toString() {
        return "RabbitMQ at %s:%d".formatted(Loopback.HOST, node.port());
    }
}
