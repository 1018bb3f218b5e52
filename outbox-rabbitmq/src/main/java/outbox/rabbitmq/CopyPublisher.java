package outbox.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ShutdownSignalException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Publishes copies of messages one at a time, each done when the broker has confirmed it and has not returned it. It has a connection of its own, opened when it is needed: an alarm of the
 * broker stops whole connections that publish, and must not stop the acks of the consumer.
 *
 * <p>Threads: one thread calls publish; any thread may call abortIfStuck and close.
 */
final class CopyPublisher implements AutoCloseable {

    private static final Duration CONFIRM_LIMIT = Duration.ofSeconds(10);
    private static final Duration STUCK_LIMIT = Duration.ofSeconds(20);
    private static final int ACCESS_REFUSED = 403;

    private final ConnectionFactory factory;
    private final String name;
    private volatile @Nullable Connection connection; // publishing thread writes
    private @Nullable Channel channel; // publishing thread only
    private volatile @Nullable String blocked; // the client's thread writes: why, or null
    private volatile @Nullable String returned; // the client's thread writes, before it takes the confirm
    private volatile boolean closed;
    private volatile long busySince; // of the clock of nanoTime, or 0

    /** The copy is not there for all we know. */
    static final class NotPublishedException extends Exception {

        private static final long serialVersionUID = 1L;

        private final boolean isForbidden;

        NotPublishedException(String message, @Nullable Throwable cause) {
            super(message, cause);
            isForbidden = cause instanceof ShutdownSignalException closed
                    && closed.getReason() instanceof AMQP.Channel.Close close
                    && close.getReplyCode() == ACCESS_REFUSED;
        }

        /** Whether this user may not publish there at all. */
        boolean isForbidden() {
            return isForbidden;
        }
    }

    /** @param factory without recovery, whose threads are ours */
    CopyPublisher(ConnectionFactory factory, String name) {
        this.factory = factory;
        this.name = name;
    }

    void publish(String exchange, String routingKey, BasicProperties properties, byte[] body)
            throws NotPublishedException {
        String where = exchange.isEmpty() ? "queue " + routingKey : "exchange " + exchange + " with key " + routingKey;
        busySince = Math.max(1, System.nanoTime());
        try {
            Channel open = channel();
            if (blocked != null) {
                throw new NotPublishedException("The broker takes no messages now: " + blocked, null);
            }
            returned = null;
            open.basicPublish(exchange, routingKey, true, properties, body);
            if (!open.waitForConfirms(CONFIRM_LIMIT.toMillis())) {
                throw new NotPublishedException("The broker refused the copy for " + where, null);
            }
            if (returned != null) {
                throw new NotPublishedException("The broker knows no queue for " + where + ": " + returned, null);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            drop();
            throw new NotPublishedException("Interrupted while waiting for the confirm of " + where, e);
        } catch (TimeoutException e) {
            drop();
            throw new NotPublishedException(
                    "No confirm for " + where + " within " + CONFIRM_LIMIT.toSeconds() + " s", e);
        } catch (IOException | ShutdownSignalException e) {
            drop();
            ShutdownSignalException signal = signal(e);
            throw new NotPublishedException(
                    "Cannot publish to " + where + ": " + (signal == null ? e : signal).getMessage(),
                    signal == null ? e : signal);
        } finally {
            busySince = 0;
        }
    }

    private static @Nullable ShutdownSignalException signal(Exception e) {
        if (e instanceof ShutdownSignalException said) {
            return said;
        }
        return e.getCause() instanceof ShutdownSignalException cause ? cause : null;
    }

    private Channel channel() throws IOException, TimeoutException {
        Channel known = channel;
        if (known != null && known.isOpen()) {
            return known;
        }
        drop();
        Connection opened = factory.newConnection(name + "-copies");
        connection = opened; // before the look at closed, so that a close sees it or it sees the close
        if (closed) {
            drop();
            throw new IOException("closed");
        }
        blocked = null;
        opened.addBlockedListener(reason -> blocked = reason, () -> blocked = null);
        Channel fresh = opened.createChannel();
        if (fresh == null) {
            throw new IOException("The connection has no channel left");
        }
        fresh.confirmSelect();
        fresh.addReturnListener(message -> returned = message.getReplyText());
        channel = fresh;
        return fresh;
    }

    /** A broker that stops reading can hold a write for as long as it likes; only the end of the connection ends it. */
    void abortIfStuck() {
        long since = busySince;
        if (since != 0 && System.nanoTime() - since > STUCK_LIMIT.toNanos()) {
            drop();
        }
    }

    @Override
    public void close() {
        closed = true;
        drop();
    }

    private void drop() {
        Connection last = connection;
        if (last != null) {
            last.abort((int) TimeUnit.SECONDS.toMillis(1));
        }
    }
}
