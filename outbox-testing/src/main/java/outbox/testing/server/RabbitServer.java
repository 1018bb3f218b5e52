package outbox.testing.server;

import outbox.testing.internal.Loopback;

import java.util.UUID;

/**
 * A real RabbitMQ node for tests, with its management plugin. It is ready to accept connections of {@code guest}.
 *
 * <p>There is one {@link #shared()} node per JVM, which runs until the JVM ends. {@link #start()} returns a private
 * node: the test may stop or kill it, and must close it. Tests use {@link #createVirtualHost()} to stay independent
 * of each other. The program is the installed one, but a broker that the system already runs is never used.
 * Otherwise the same rules apply as for {@link DatabaseServer}.
 *
 * <p>Any thread may call any method. Methods that start, stop, kill or freeze the node return after the change has
 * taken effect.
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

    /** Returns the shared node of this JVM. The first call starts it. */
    public static RabbitServer shared() {
        return SHARED.get();
    }

    /** Starts a private node. */
    public static RabbitServer start() {
        return OpenServers.add(new RabbitServer(RabbitNode.start(), false));
    }

    /** Returns the URI, with user, of the default virtual host, which every node has. */
    public String uri() {
        return uri("%2f");
    }

    /** Returns the URI, with user, of a virtual host on this node. The virtual host need not exist yet. */
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

    /** Returns the AMQP port. */
    public int port() {
        return node.port();
    }

    /** Returns the port of the management plugin. */
    public int managementPort() {
        return node.managementPort();
    }

    /**
     * Sends a GET request for this path below {@code /api/} to the management plugin and returns the response
     * as JSON.
     */
    public String management(String path) {
        return node.management("GET", path, "");
    }

    /** Returns the id of the node's process. It changes with a restart. */
    public long pid() {
        return node.pid();
    }

    /**
     * Kills the node at once, without a clean shutdown. Confirmed messages are there after {@link #restart()}. Does
     * nothing if the node is dead.
     */
    public void kill() {
        node.kill();
    }

    /** Shuts the node down cleanly, so that it notifies its clients. {@link #restart()} starts it again. */
    public void shutDown() {
        node.shutDown();
    }

    /** Starts the node again with the same ports and data. Kills it first if it still runs. */
    public void restart() {
        node.restart();
    }

    /** Freezes the node: connections stay open, but the node does not respond. */
    public void freeze() {
        node.freeze();
    }

    /** Resumes a frozen node. */
    public void resume() {
        node.resume();
    }

    /** Raises the memory alarm, which blocks every publishing connection. A restart clears it. */
    public void raiseMemoryAlarm() {
        node.control("set_vm_memory_high_watermark", "0");
    }

    public void clearMemoryAlarm() {
        node.control("set_vm_memory_high_watermark", "0.6");
    }

    /** Makes the node close all connections of one virtual host. */
    public void closeConnections(String virtualHost) {
        node.control("close_all_connections", "--vhost", virtualHost, "closed by a test");
    }

    /** Runs {@code rabbitmqctl} for this node and returns its output. This takes about two seconds. */
    public String control(String... arguments) {
        return node.control(arguments);
    }

    /** Stops a private node and deletes its data. Does nothing for a shared node, because other tests use it. */
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
