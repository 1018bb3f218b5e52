package outbox.testing.fault;

import outbox.testing.internal.JdbcUrl;
import outbox.testing.internal.Loopback;
import outbox.testing.server.DatabaseServer;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A TCP proxy on a loopback port. It passes all bytes on unchanged until a test turns on a fault.
 *
 * <p>Faults affect open and new connections, starting with the next bytes. Three faults wait for a certain point in
 * the traffic: {@link #cutAfter}, {@link #cutBefore} and {@link #swallowReplyAfter}. Only one of them is armed at a
 * time, and it happens once. Arming another one, or {@link #heal()}, cancels it.
 *
 * <p>Any thread may call any method. The proxy handles up to 256 connections, with two threads each. It resets
 * further connections.
 */
public final class FaultProxy implements AutoCloseable {
    /** The direction of traffic through the proxy. */
    public enum Direction {
        /** From the client to the server. */
        TO_SERVER,
        /** From the server to the client. */
        TO_CLIENT
    }

    private final Faults faults = new Faults();
    private final ProxyListener listener;

    private FaultProxy(InetSocketAddress target) {
        listener = new ProxyListener(target, faults);
    }

    /** Starts a proxy in front of a database server. */
    @SuppressWarnings("AddressSelection") // a host name may have several addresses; we use the first
    public static FaultProxy to(DatabaseServer server) {
        var url = JdbcUrl.parse(server.jdbcUrl());
        return start(new InetSocketAddress(url.host(), url.port()));
    }

    /** Starts a proxy for a server on this loopback port. The server may be started later. */
    public static FaultProxy to(int loopbackPort) {
        return start(Loopback.address(loopbackPort));
    }

    private static FaultProxy start(InetSocketAddress target) {
        var proxy = new FaultProxy(target);
        proxy.up();
        return proxy;
    }

    /** Returns the loopback port of the proxy. {@link #down()} and {@link #up()} do not change it. */
    public int port() {
        return listener.port();
    }

    /** Returns this URL with the address of the proxy instead of the server's address. */
    public String through(String jdbcUrl) {
        return JdbcUrl.parse(jdbcUrl)
                .withAddress(Loopback.HOST, listener.port())
                .toString();
    }

    /** Returns the number of open connections. */
    public int connections() {
        return listener.connections();
    }

    /**
     * Delays bytes by this duration in each direction. Zero turns the delay off. Each chunk of up to 16 KB is
     * delayed separately, so larger transfers also become slower.
     */
    public void latency(Duration oneWay) {
        faults.latency(oneWay);
    }

    /**
     * Blocks this direction completely; even the end of a connection does not pass. The bytes are held and pass
     * after {@link #heal()}, as after a network partition.
     */
    public void blackhole(Direction direction) {
        faults.blackhole(direction);
    }

    /**
     * Drops all bytes in this direction until {@link #heal()}, like a firewall that has lost the state of
     * a connection. A connection that lost bytes stays open but never works again. New connections work
     * after {@link #heal()}.
     */
    public void swallow(Direction direction) {
        faults.swallow(direction);
    }

    /** Resets all open connections on both sides. */
    public void cutAll() {
        listener.cutAll();
    }

    /**
     * Passes this number of bytes in this direction, counted over all connections. Then resets the connection that
     * carried the last byte, even in the middle of a message.
     *
     * @return completes when the connection has been cut
     */
    public CompletableFuture<Void> cutAfter(Direction direction, long bytes) {
        if (bytes < 1) {
            throw new IllegalArgumentException("Cannot cut after " + bytes + " bytes; use cutAll to cut now");
        }
        return arm(Trap.afterBytes(direction, bytes));
    }

    /**
     * Resets the connection of the next request that contains these bytes, instead of passing the request on. The
     * server has not received the request, but the client cannot know this.
     *
     * @return completes when the connection has been cut
     * @see #swallowReplyAfter(byte[])
     */
    public CompletableFuture<Void> cutBefore(byte[] marker) {
        return arm(Trap.beforeRequest(marker));
    }

    /** Like {@link #cutBefore(byte[])}, for a text in UTF-8, such as {@code COMMIT}. */
    public CompletableFuture<Void> cutBefore(String marker) {
        return cutBefore(marker.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Passes the next request that contains these bytes on to the server and waits for the reply. Then resets
     * the connection instead of passing the reply on. The server has executed the request, but the client cannot
     * know this.
     *
     * <p>The request must contain the bytes literally. The PostgreSQL driver sends the text of {@code COMMIT} only
     * once per connection and later refers to it by name, unless its URL has {@code prepareThreshold=0}.
     *
     * @return completes when the reply has arrived and the connection has been cut
     */
    public CompletableFuture<Void> swallowReplyAfter(byte[] marker) {
        return arm(Trap.beforeReply(marker));
    }

    /** Like {@link #swallowReplyAfter(byte[])}, for a text in UTF-8, such as {@code COMMIT}. */
    public CompletableFuture<Void> swallowReplyAfter(String marker) {
        return swallowReplyAfter(marker.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Turns off latency, blocked directions and losses, and disarms a fault that has not happened yet. Connections
     * that were cut stay closed.
     */
    public void heal() {
        faults.heal();
    }

    /** Refuses new connections and resets the open ones, like a server that has crashed. */
    public void down() {
        listener.down();
    }

    /**
     * Accepts connections again on the same port. Does nothing if the proxy already accepts connections.
     *
     * @throws IllegalStateException if the proxy is closed
     */
    public void up() {
        listener.up();
    }

    /** Closes the proxy and all its connections permanently. */
    @Override
    public void close() {
        listener.close();
        faults.heal();
    }

    private CompletableFuture<Void> arm(Trap trap) {
        faults.arm(trap);
        return trap.sprung();
    }
}
