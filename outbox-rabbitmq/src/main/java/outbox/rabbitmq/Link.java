package outbox.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ShutdownSignalException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** One connection to the broker, from open to close. Thread-safe. */
final class Link {

    static final long RPC_NANOS = Duration.ofSeconds(5).toNanos();

    private static final int NOT_FOUND = 404;
    private static final int CLOSE_MILLIS = 2_000;
    private static final int MOST_KNOWN_EXCHANGES = 10_000;
    private static final long MISSING_NANOS =
            Duration.ofSeconds(1).toNanos(); // how long the result "exchange is missing" is cached
    private static final long LOOK_NANOS = Duration.ofSeconds(1).toNanos();

    /** A call to the client library. */
    interface Call<T> {
        T make() throws IOException;
    }

    private final Connection connection;
    private final CuttableSocket socket;
    private final long stuckNanos;
    private final Set<String> exchanges = ConcurrentHashMap.newKeySet(); // known to exist
    private final Map<String, Long> missing = new ConcurrentHashMap<>(); // missing exchanges and the time of the check
    // threads that are in a call, with its start time
    private final Map<Thread, Long> calls = new ConcurrentHashMap<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile String endedBecause = "";
    private volatile @Nullable String blocked; // both fields are written by the client's reader thread
    private volatile long unblockedNanos = System.nanoTime();

    private Link(Connection connection, CuttableSocket socket, Duration stuck) {
        this.connection = connection;
        this.socket = socket;
        stuckNanos = stuck.toNanos();
    }

    /**
     * Opens a connection.
     *
     * @param addresses null to use the host and port of the factory
     * @param stuck how long a call may take while the broker does not block the connection
     */
    static Link open(
            ConnectionFactory factory,
            @Nullable AddressResolver addresses,
            String name,
            TransportThreads threads,
            Duration stuck,
            Consumer<String> onTrouble)
            throws IOException, TimeoutException {
        CuttableSocket socket = new CuttableSocket();
        ConnectionFactory cuttable = socket.factory(factory);
        Connection connection = addresses == null
                ? cuttable.newConnection(name)
                : cuttable.newConnection(threads.client(), addresses, name);
        Link link = new Link(connection, socket, stuck);
        link.connection.addBlockedListener(
                reason -> {
                    link.blocked = reason;
                    onTrouble.accept("is blocked by the broker: " + reason);
                },
                () -> {
                    link.unblockedNanos = System.nanoTime();
                    link.blocked = null;
                });
        link.connection.addShutdownListener(link::ended);
        return link;
    }

    private void ended(ShutdownSignalException cause) {
        Throwable deeper = cause.getCause();
        if (endedBecause.isEmpty()) { // if the connection was cut, keep that reason, which is more precise
            endedBecause = deeper == null ? String.valueOf(cause.getMessage()) : deeper.toString();
        }
        ended.countDown();
    }

    boolean confirms() {
        Object capabilities = connection.getServerProperties().get("capabilities");
        return capabilities instanceof Map<?, ?> map && Boolean.TRUE.equals(map.get("publisher_confirms"));
    }

    boolean isOpen() {
        return ended.getCount() > 0 && !socket.isCut() && connection.isOpen();
    }

    /**
     * Waits until the connection ends, and cuts it when the client cannot detect the end: a thread that is blocked in
     * a write holds the lock that the client needs for that.
     */
    void awaitEnd() throws InterruptedException {
        boolean wasOpen = true;
        while (!ended.await(LOOK_NANOS, TimeUnit.NANOSECONDS)) {
            boolean isOpen = connection.isOpen();
            if (!isOpen && !wasOpen) {
                cut("the connection ended while a write waited for the broker");
            } else if (isStuck()) {
                cut("the broker did not read for " + Duration.ofNanos(stuckNanos));
            }
            if (socket.isCut()) {
                ended.await(RPC_NANOS, TimeUnit.NANOSECONDS); // treat the connection as ended in any case
                return;
            }
            wasOpen = isOpen;
        }
    }

    private boolean isStuck() {
        long now = System.nanoTime();
        return blocked == null && calls.values().stream().anyMatch(since -> waitedNanos(since, now) > stuckNanos);
    }

    /** Returns how long a message has waited, without the time in which the broker blocked the connection. */
    long waitedNanos(long since, long now) {
        return Math.min(now - since, now - unblockedNanos);
    }

    /**
     * Runs a call that may write to the broker and records its start. Such a call blocks while the broker does not
     * read.
     */
    <T> T call(Call<T> call) throws IOException {
        calls.put(Thread.currentThread(), System.nanoTime());
        try {
            return call.make();
        } finally {
            calls.remove(Thread.currentThread());
        }
    }

    String endedBecause() {
        return endedBecause;
    }

    /** Returns why the broker blocks the connection, or null if it does not. */
    @Nullable
    String blocked() {
        return blocked;
    }

    Channel newChannel() throws IOException {
        Channel channel = call(connection::createChannel);
        if (channel == null) {
            throw new IOException("The broker does not allow another channel");
        }
        return channel;
    }

    /**
     * Returns whether the exchange exists. Asks the broker once, and at most once per second while the exchange is
     * missing. Uses a separate channel: publishing to a missing exchange would close the channel and fail all
     * messages on it.
     *
     * @throws IOException if the broker did not reply
     */
    boolean hasExchange(String exchange) throws IOException {
        if (exchange.isEmpty() || exchanges.contains(exchange)) {
            return true;
        }
        Long missingSince = missing.get(exchange);
        if (missingSince != null && System.nanoTime() - missingSince < MISSING_NANOS) {
            return false; // asking for each event would delay the others
        }
        Channel probe = newChannel();
        try {
            call(() -> probe.exchangeDeclarePassive(exchange));
        } catch (IOException e) {
            if (!(e.getCause() instanceof ShutdownSignalException signal)
                    || !(signal.getReason() instanceof AMQP.Channel.Close close)) {
                throw e;
            }
            if (close.getReplyCode() != NOT_FOUND) {
                return true; // the publish reports any other error
            }
            if (missing.size() >= MOST_KNOWN_EXCHANGES) {
                missing.clear();
            }
            missing.put(exchange, System.nanoTime());
            return false;
        } finally {
            call(() -> {
                probe.abort();
                return probe;
            });
        }
        if (exchanges.size() >= MOST_KNOWN_EXCHANGES) {
            exchanges.clear();
        }
        exchanges.add(exchange);
        return true;
    }

    void forgetExchange(String exchange) {
        exchanges.remove(exchange);
    }

    /** Closes the socket immediately. */
    void cut(String why) {
        if (endedBecause.isEmpty()) {
            endedBecause = why;
        }
        try {
            socket.cut();
        } catch (IOException e) {
            endedBecause = why + "; and closing the socket failed: " + e.getMessage();
        }
    }

    /** Closes the connection in the regular way if the broker responds within two seconds; otherwise cuts it. */
    void close(TransportThreads threads) {
        if (blocked != null) {
            cut("closed while blocked");
        }
        if (connection.isOpen()) {
            ScheduledFuture<?> limit =
                    threads.timer().schedule(() -> cut("closing took too long"), CLOSE_MILLIS, TimeUnit.MILLISECONDS);
            connection.abort(CLOSE_MILLIS);
            limit.cancel(false);
        }
        cut("closed");
    }
}
