package outbox.testing;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A TCP proxy on a loopback port that carries bytes faithfully until a test turns one of its faults on.
 *
 * <p>Faults act on connections that are open as well as on new ones, from the next bytes on. Of the three that wait for
 * a place in the traffic ({@link #cutAfter}, {@link #cutBefore}, {@link #swallowReplyAfter}) one at a time is armed; it
 * springs once, and arming another, or {@link #heal()}, cancels it.
 *
 * <p>Any thread may call any method. Up to 256 connections are carried, by two threads each; more are reset.
 */
public final class FaultProxy implements AutoCloseable {
    /** The two ways that bytes take through the proxy. */
    public enum Direction {
        /** What the client sends. */
        TO_SERVER,
        /** What the server answers. */
        TO_CLIENT
    }

    private final Faults faults = new Faults();
    private final ProxyListener listener;

    private FaultProxy(InetSocketAddress target) {
        listener = new ProxyListener(target, faults);
    }

    /** Starts a proxy in front of a database server. */
    @SuppressWarnings("AddressSelection") // a server given by name may have several; the first must do
    public static FaultProxy to(DatabaseServer server) {
        var url = JdbcUrl.parse(server.jdbcUrl());
        return start(new InetSocketAddress(url.host(), url.port()));
    }

    /** Starts a proxy in front of whatever listens on this loopback port, now or later. */
    public static FaultProxy to(int loopbackPort) {
        return start(Loopback.address(loopbackPort));
    }

    private static FaultProxy start(InetSocketAddress target) {
        var proxy = new FaultProxy(target);
        proxy.up();
        return proxy;
    }

    /** Returns the loopback port of the proxy, which stays the same through {@link #down()} and {@link #up()}. */
    public int port() {
        return listener.port();
    }

    /** Returns this URL with the address of the proxy instead of the server's. */
    public String through(String jdbcUrl) {
        return JdbcUrl.parse(jdbcUrl)
                .withAddress(Loopback.HOST, listener.port())
                .toString();
    }

    /** Returns how many connections are open. */
    public int connections() {
        return listener.connections();
    }

    /**
     * Delays bytes by this long in each direction; zero turns it off. Each piece of up to 16 KB is delayed by itself,
     * so that what is larger is also slowed down.
     */
    public void latency(Duration oneWay) {
        faults.latency(oneWay);
    }

    /**
     * Lets nothing through in this direction any more, not even the end of a connection. What is sent meanwhile is held
     * and comes through after {@link #heal()}, as it does after a partition of the network.
     */
    public void blackhole(Direction direction) {
        faults.blackhole(direction);
    }

    /**
     * Loses what is sent in this direction until {@link #heal()}, as a firewall does that has forgotten a connection.
     * A connection that lost something stays open and never works again; new ones work after {@link #heal()}.
     */
    public void swallow(Direction direction) {
        faults.swallow(direction);
    }

    /** Ends all open connections with a reset on both sides. */
    public void cutAll() {
        listener.cutAll();
    }

    /**
     * Lets so many more bytes pass in this direction, counted over all connections, then resets the connection that
     * carried the last of them, be it in the middle of a message.
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
     * Resets the connection of the next request that contains these bytes instead of passing it on: the server has not
     * seen it, and the client cannot know.
     *
     * @return completes when the connection has been cut
     * @see #swallowReplyAfter(byte[])
     */
    public CompletableFuture<Void> cutBefore(byte[] marker) {
        return arm(Trap.beforeRequest(marker));
    }

    /** As {@link #cutBefore(byte[])}, for a text in UTF-8, such as {@code COMMIT}. */
    public CompletableFuture<Void> cutBefore(String marker) {
        return cutBefore(marker.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Passes the next request that contains these bytes on to the server, waits for the answer, and resets the
     * connection instead of passing that on: the server has done it, and the client cannot know.
     *
     * <p>The bytes must be in the request as sent. The PostgreSQL driver sends the text of {@code COMMIT} only once per
     * connection and its name afterwards, unless its URL has {@code prepareThreshold=0}.
     *
     * @return completes when the answer has come and the connection has been cut
     */
    public CompletableFuture<Void> swallowReplyAfter(byte[] marker) {
        return arm(Trap.beforeReply(marker));
    }

    /** As {@link #swallowReplyAfter(byte[])}, for a text in UTF-8, such as {@code COMMIT}. */
    public CompletableFuture<Void> swallowReplyAfter(String marker) {
        return swallowReplyAfter(marker.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Turns latency, black holes and losses off and disarms what has not sprung; connections that were cut stay so.
     */
    public void heal() {
        faults.heal();
    }

    /** Refuses new connections and resets the open ones, as a server that has died. */
    public void down() {
        listener.down();
    }

    /**
     * Takes connections again on the same port; does nothing if it does already.
     *
     * @throws IllegalStateException if the proxy is closed
     */
    public void up() {
        listener.up();
    }

    /** Ends the proxy and all its connections for good. */
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
