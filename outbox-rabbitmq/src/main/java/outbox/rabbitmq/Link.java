package outbox.rabbitmq;

import com.rabbitmq.client.AMQP;
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

    private final Connection connection;
    private final CuttableSocket socket;
    private final Set<String> exchanges = ConcurrentHashMap.newKeySet(); // that were seen to exist
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile String endedBecause = "";
    private volatile @Nullable String blocked; // written by the client's reader

    private Link(Connection connection, CuttableSocket socket) {
        this.connection = connection;
        this.socket = socket;
    }

    static Link open(ConnectionFactory factory, String name, Consumer<String> onTrouble)
            throws IOException, TimeoutException {
        CuttableSocket socket = new CuttableSocket();
        Link link = new Link(socket.factory(factory).newConnection(name), socket);
        link.connection.addBlockedListener(
                reason -> {
                    link.blocked = reason;
                    onTrouble.accept("is blocked by the broker: " + reason);
                },
                () -> link.blocked = null);
        link.connection.addShutdownListener(link::ended);
        return link;
    }

    private void ended(ShutdownSignalException cause) {
        Throwable deeper = cause.getCause();
        endedBecause = deeper == null ? String.valueOf(cause.getMessage()) : deeper.toString();
        ended.countDown();
    }

    boolean confirms() {
        Object capabilities = connection.getServerProperties().get("capabilities");
        return capabilities instanceof Map<?, ?> map && Boolean.TRUE.equals(map.get("publisher_confirms"));
    }

    boolean isOpen() {
        return ended.getCount() > 0 && connection.isOpen();
    }

    void awaitEnd() throws InterruptedException {
        ended.await();
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
        Channel channel = connection.createChannel();
        if (channel == null) {
            throw new IOException("The broker allows no further channel");
        }
        return channel;
    }

    /**
     * Whether the exchange is there. Asked once, on a channel of its own: to publish to a missing one would close the channel, with everything that is on it.
     *
     * @throws IOException if the broker did not say
     */
    boolean hasExchange(String exchange) throws IOException {
        if (exchange.isEmpty() || exchanges.contains(exchange)) {
            return true;
        }
        Channel probe = newChannel();
        try {
            probe.exchangeDeclarePassive(exchange);
        } catch (IOException e) {
            if (!(e.getCause() instanceof ShutdownSignalException signal)
                    || !(signal.getReason() instanceof AMQP.Channel.Close close)) {
                throw e;
            }
            return close.getReplyCode() != NOT_FOUND; // what else is wrong with it, the publish will tell
        } finally {
            probe.abort();
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
