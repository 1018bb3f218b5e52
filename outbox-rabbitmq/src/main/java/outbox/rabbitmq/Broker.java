package outbox.rabbitmq;

import com.rabbitmq.client.AddressResolver;
import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Keeps a connection to the broker and reconnects after a loss. The automatic recovery of the client is disabled: it
 * restarts delivery tags on the same channel, so a late confirm of an old message could be taken for a confirm of a
 * new one.
 *
 * <p>Threads: the keeper thread connects, waits for the end of the connection, and connects again. Any thread may
 * call the other methods.
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
    private volatile String trouble = "has not connected yet"; // written by start, then by the keeper

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

    /** Copies the user's factory and sets the options that this transport needs. */
    private static ConnectionFactory own(ConnectionFactory given, TransportThreads threads) {
        ConnectionFactory factory = given.clone();
        factory.setAutomaticRecoveryEnabled(false);
        factory.setTopologyRecoveryEnabled(false);
        factory.useBlockingIo(); // the socket can be closed while another thread writes to it
        factory.setThreadFactory(threads.factory());
        factory.setSharedExecutor(threads.client()); // otherwise the client creates a thread pool per connection
        factory.setChannelRpcTimeout((int) TimeUnit.NANOSECONDS.toMillis(Link.RPC_NANOS));
        factory.setConnectionTimeout(shorter(given.getConnectionTimeout(), 5_000));
        factory.setHandshakeTimeout(shorter(given.getHandshakeTimeout(), 5_000));
        factory.setRequestedHeartbeat(shorter(given.getRequestedHeartbeat(), 10));
        return factory;
    }

    /** To the client, zero means no limit. */
    private static int shorter(int given, int longest) {
        return given <= 0 ? longest : Math.min(given, longest);
    }

    /**
     * Tries to connect once. If the broker cannot be reached, the keeper thread tries again in the background.
     *
     * @throws IllegalStateException if the broker refuses the user or does not support publisher confirms
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
            throw new UnsupportedOperationException("RabbitMQ transport " + name + ": the broker at " + where
                    + " does not support publisher confirms (publisher_confirms); the transport needs them");
        }
        link = opened;
        if (isClosing()) { // either close saw this link, or this check sees the close
            opened.close(threads);
            return;
        }
        LOG.log(Level.INFO, "RabbitMQ transport {0} is connected to {1}", name, where);
    }

    private void failed(Exception e) {
        String why = "cannot be reached: " + e;
        if (!why.equals(trouble)) { // log each outage once
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
            } catch (RuntimeException | Error e) { // for example from the clock of a breaker; keep reconnecting
                if (!isClosing()) {
                    LOG.log(
                            Level.ERROR,
                            "RabbitMQ transport " + name + ": an error occurred" + " while maintaining the connection",
                            e);
                }
            }
        }
    }

    /** Waits for the current connection to end, then tries to connect again. Returns the wait before that attempt. */
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
        } catch (Error e) { // for example no memory for a thread; the next attempt may succeed
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

    /** Returns the connection, or null if there is none or the broker blocks it. */
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

    /** Returns why the connection cannot be used. */
    String trouble() {
        String blocked = blocked();
        return blocked != null ? "is blocked by the broker: " + blocked : trouble;
    }

    /** Waits for the given time, or until this object is closed. */
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
