package outbox.rabbitmq;

import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.spi.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Keeps a connection to the broker. The client's own recovery is off: it gives the same channel new tags, so that a late word about an old message is taken for one about a new.
 *
 * <p>Threads: one of its own connects, waits for the end of the connection, and connects again; any thread may ask.
 */
final class Broker {

    private static final Logger LOG = SafeLogger.of(Broker.class);
    private static final Duration SHORTEST_WAIT = Duration.ofMillis(100);
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(2);

    private final String name;
    private final String where;
    private final ConnectionFactory factory;
    private final @Nullable AddressResolver addresses;
    private final TransportThreads threads;
    private final Duration stuck;
    private final Consumer<String> onTrouble;
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Thread keeper;
    private volatile @Nullable Link link; // written by start, then by the keeper
    private volatile String trouble = "has not connected yet"; // as link

    Broker(
            String name,
            ConnectionFactory given,
            @Nullable AddressResolver addresses,
            TransportThreads threads,
            Duration stuck,
            Consumer<String> onTrouble) {
        this.name = name;
        where = given.getHost() + ":" + given.getPort() + (addresses == null ? "" : " or another of its nodes");
        factory = own(given, threads);
        this.addresses = addresses;
        this.threads = threads;
        this.stuck = stuck;
        this.onTrouble = onTrouble;
        keeper = threads.factory().newThread(this::keep);
    }

    /** A copy of the user's with what this transport relies on. */
    private static ConnectionFactory own(ConnectionFactory given, TransportThreads threads) {
        ConnectionFactory factory = given.clone();
        factory.setAutomaticRecoveryEnabled(false);
        factory.setTopologyRecoveryEnabled(false);
        factory.useBlockingIo(); // its socket can be closed under a writer
        factory.setThreadFactory(threads.factory());
        factory.setSharedExecutor(threads.client()); // otherwise a pool per connection, as large as the machine
        factory.setChannelRpcTimeout((int) TimeUnit.NANOSECONDS.toMillis(Link.RPC_NANOS));
        factory.setConnectionTimeout(shorter(given.getConnectionTimeout(), 5_000));
        factory.setHandshakeTimeout(shorter(given.getHandshakeTimeout(), 5_000));
        factory.setRequestedHeartbeat(shorter(given.getRequestedHeartbeat(), 10));
        return factory;
    }

    /** Zero means without limit to the client. */
    private static int shorter(int given, int longest) {
        return given <= 0 ? longest : Math.min(given, longest);
    }

    /**
     * Tries to connect once; a broker that cannot be reached is tried again in the background.
     *
     * @throws IllegalStateException if the broker is there and this will never work
     */
    void start() {
        try {
            connect();
        } catch (AuthenticationFailureException e) {
            throw new IllegalStateException("RabbitMQ at " + where + " refuses the user: " + e.getMessage(), e);
        } catch (UnsupportedOperationException e) {
            throw new IllegalStateException(e.getMessage(), e);
        } catch (IOException | TimeoutException | RuntimeException e) {
            failed(e);
        }
        keeper.start();
    }

    private void connect() throws IOException, TimeoutException {
        Link opened = Link.open(factory, addresses, "outbox-" + name, threads, stuck, onTrouble);
        if (!opened.confirms()) {
            opened.close(threads);
            throw new UnsupportedOperationException(
                    "RabbitMQ transport " + name + ": the broker at " + where
                            + " does not offer publisher confirms (publisher_confirms), without which no event is ever known to have arrived");
        }
        link = opened;
        if (isClosing()) { // who closes has seen it, or this has seen that
            opened.close(threads);
            return;
        }
        LOG.log(Level.INFO, "RabbitMQ transport {0} is connected to {1}", name, where);
    }

    private void failed(Exception e) {
        String why = "cannot be reached: " + e;
        if (!why.equals(trouble)) { // an outage is told once
            LOG.log(Level.WARNING, "RabbitMQ at {0} {1}. Transport {2} tries again", where, why, name);
        }
        trouble = why;
        onTrouble.accept(why);
    }

    private void keep() {
        long wait = SHORTEST_WAIT.toNanos();
        while (!isClosing()) {
            try {
                wait = keepOne(wait);
            } catch (InterruptedException e) {
                LOG.log(Level.DEBUG, "Interrupted by the close");
            } catch (RuntimeException | Error e) { // such as of a breaker's clock; the next connection must come
                if (!isClosing()) {
                    LOG.log(Level.ERROR, "RabbitMQ transport " + name + " failed to look after its connection", e);
                }
            }
        }
    }

    /** One connection until its end, and the next try. Answers how long this has waited before it. */
    private long keepOne(long waited) throws InterruptedException {
        Link current = link;
        long since = System.nanoTime();
        if (current != null) {
            current.awaitEnd();
            lost(current);
        }
        boolean lasted = current != null && System.nanoTime() - since > LONGEST_WAIT.toNanos();
        long wait = lasted ? SHORTEST_WAIT.toNanos() : Math.min(2 * waited, LONGEST_WAIT.toNanos());
        if (!closing.await(wait, TimeUnit.NANOSECONDS)) {
            reconnect();
        }
        return wait;
    }

    private void reconnect() {
        try {
            connect();
        } catch (IOException | TimeoutException | RuntimeException e) {
            failed(e);
        } catch (Error e) { // such as no memory for a thread: the next try may have it
            failed(new IllegalStateException(e));
        }
    }

    private void lost(Link ended) {
        link = null;
        ended.close(threads);
        if (!isClosing()) {
            trouble = "lost the connection: " + ended.endedBecause();
            LOG.log(Level.WARNING, "RabbitMQ transport {0} {1}", name, trouble);
            onTrouble.accept(trouble);
        }
    }

    private boolean isClosing() {
        return closing.getCount() == 0;
    }

    /** The connection to use now; null if there is none, or the broker blocks it. */
    @Nullable
    Link usable() {
        Link current = link;
        return current != null && current.isOpen() && current.blocked() == null ? current : null;
    }

    boolean isConnected() {
        Link current = link;
        return current != null && current.isOpen();
    }

    @Nullable
    String blocked() {
        Link current = link;
        return current == null || !current.isOpen() ? null : current.blocked();
    }

    /** Why there is nothing to use. */
    String trouble() {
        String blocked = blocked();
        return blocked != null ? "is blocked by the broker: " + blocked : trouble;
    }

    /** Gives the broker time to become usable; returns early when this closes. */
    void pause(long millis) throws InterruptedException {
        closing.await(millis, TimeUnit.MILLISECONDS);
    }

    String where() {
        return where;
    }

    void close() {
        closing.countDown();
        keeper.interrupt();
        Link last = link;
        link = null;
        if (last != null) {
            last.close(threads);
        }
    }
}
