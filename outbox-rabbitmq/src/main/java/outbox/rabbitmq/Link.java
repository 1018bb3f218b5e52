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

/** One connection, from its opening to its end. Any thread may call any method. */
final class Link {

    static final long RPC_NANOS = Duration.ofSeconds(5).toNanos();

    private static final int NOT_FOUND = 404;
    private static final int CLOSE_MILLIS = 2_000;
    private static final int MOST_KNOWN_EXCHANGES = 10_000;
    private static final long MISSING_NANOS =
            Duration.ofSeconds(1).toNanos(); // how long a missing exchange is believed to be missing
    private static final long LOOK_NANOS = Duration.ofSeconds(1).toNanos();

    /** What a call of the client does. */
    interface Call<T> {
        T make() throws IOException;
    }

    private final Connection connection;
    private final CuttableSocket socket;
    private final long stuckNanos;
    private final Set<String> exchanges = ConcurrentHashMap.newKeySet(); // that were seen to exist
    private final Map<String, Long> missing =
            new ConcurrentHashMap<>(); // exchanges, and when they were seen to be missing
    private final Map<Thread, Long> calls = new ConcurrentHashMap<>(); // who is in a call, and since when
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile String endedBecause = "";
    private volatile @Nullable String blocked; // written by the client's reader, as the next
    private volatile long unblockedNanos = System.nanoTime();

    private Link(Connection connection, CuttableSocket socket, Duration stuck) {
        this.connection = connection;
        this.socket = socket;
        stuckNanos = stuck.toNanos();
    }

    /**
     * Connects.
     *
     * @param addresses null for the host and port of the factory
     * @param stuck how long a call may last while the broker does not block the connection
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
        if (endedBecause.isEmpty()) { // otherwise it was cut, and why is known better
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
     * Waits for the end, and brings it about where the client cannot: a thread that writes to a broker that does not read holds what the client needs to notice the end, and to tell
     * of it.
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
                ended.await(RPC_NANOS, TimeUnit.NANOSECONDS); // whatever the client makes of it, this is the end
                return;
            }
            wasOpen = isOpen;
        }
    }

    private boolean isStuck() {
        long now = System.nanoTime();
        return blocked == null && calls.values().stream().anyMatch(since -> waitedNanos(since, now) > stuckNanos);
    }

    /** How long something has waited since then for a broker that could have answered. */
    long waitedNanos(long since, long now) {
        return Math.min(now - since, now - unblockedNanos);
    }

    /** Every call that may write to the broker goes through this: it may last as long as the broker does not read. */
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

    /** Why the broker blocks it; null if it does not. */
    @Nullable
    String blocked() {
        return blocked;
    }

    Channel newChannel() throws IOException {
        Channel channel = call(connection::createChannel);
        if (channel == null) {
            throw new IOException("The broker allows no further channel");
        }
        return channel;
    }

    /**
     * Whether the exchange is there. Asked once, and at most once a second while it is missing, on a channel of its own: to publish to a missing one would close the channel, with everything that is on it.
     *
     * @throws IOException if the broker did not say
     */
    boolean hasExchange(String exchange) throws IOException {
        if (exchange.isEmpty() || exchanges.contains(exchange)) {
            return true;
        }
        Long missingSince = missing.get(exchange);
        if (missingSince != null && System.nanoTime() - missingSince < MISSING_NANOS) {
            return false; // to ask for each event would hold up its neighbours
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
                return true; // what else is wrong with it, the publish will tell
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

    /** Ends the connection at once. */
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

    /** Says good-bye if the broker listens, within two seconds. */
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
