package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ShutdownSignalException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeoutException;

/**
 * Publishes copies of messages one at a time. A copy is published when the broker has confirmed it and has not
 * returned it. The publisher opens its own connection on demand: a broker alarm blocks connections that publish, and
 * must not block the acks of the consumer.
 *
 * <p>Threads: one thread calls publish; any thread may call abortIfStuck and close.
 */
final class CopyPublisher implements AutoCloseable {

    private static final Duration CONFIRM_LIMIT = Duration.ofSeconds(10);
    private static final Duration STUCK_LIMIT = Duration.ofSeconds(20);

    private final ConnectionFactory factory;
    private final String name;
    private volatile @Nullable CopyLine line; // written by the publishing thread
    private volatile boolean closed;
    private volatile long busySince; // System.nanoTime() of the start of the current publish, or 0

    /** The copy was not confirmed, so it may not have been stored. */
    static final class NotPublishedException extends Exception {

        private static final long serialVersionUID = 1L;

        NotPublishedException(String message, @Nullable Throwable cause) {
            super(message, cause);
        }
    }

    /** @param factory has automatic recovery disabled and uses our thread factory */
    CopyPublisher(ConnectionFactory factory, String name) {
        this.factory = factory;
        this.name = name;
    }

    void publish(String exchange, String routingKey, BasicProperties properties, byte[] body)
            throws NotPublishedException {
        String where = exchange.isEmpty() ? "queue " + routingKey : "exchange " + exchange + " with key " + routingKey;
        busySince = Math.max(1, System.nanoTime());
        try {
            CopyLine current = line();
            Channel open = current.channel();
            current.expect();
            open.basicPublish(exchange, routingKey, true, properties, body);
            if (!confirmed(current, open, where)) {
                throw new NotPublishedException("The broker refused the copy for " + where, null);
            }
            if (current.returned() != null) {
                throw new NotPublishedException(
                        "The broker knows no queue for " + where + ": " + current.returned(), null);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            cut();
            throw new NotPublishedException("Interrupted while waiting for the confirm of " + where, e);
        } catch (IOException | TimeoutException | ShutdownSignalException e) {
            cut();
            ShutdownSignalException signal = signal(e);
            throw new NotPublishedException(
                    "Cannot publish to " + where + ": " + (signal == null ? e : signal).getMessage(),
                    signal == null ? e : signal);
        } finally {
            busySince = 0;
        }
    }

    /**
     * Waits for the confirm. If the broker blocks the connection, keeps it open: a new connection would be blocked
     * too.
     */
    private boolean confirmed(CopyLine current, Channel open, String where)
            throws NotPublishedException, InterruptedException {
        try {
            return open.waitForConfirms(CONFIRM_LIMIT.toMillis());
        } catch (TimeoutException e) {
            String blocked = current.blocked();
            if (blocked == null) {
                cut();
                throw new NotPublishedException(
                        "No confirm for " + where + " within " + CONFIRM_LIMIT.toSeconds() + " s", e);
            }
            current.late();
            throw new NotPublishedException("The broker accepts no messages now: " + blocked, e);
        }
    }

    private static @Nullable ShutdownSignalException signal(Exception e) {
        if (e instanceof ShutdownSignalException said) {
            return said;
        }
        return e.getCause() instanceof ShutdownSignalException cause ? cause : null;
    }

    /** Returns the open connection, or opens a new one. */
    private CopyLine line() throws IOException, TimeoutException, NotPublishedException {
        CopyLine last = line;
        if (last != null) {
            String blocked = last.blocked();
            if (blocked != null) {
                throw new NotPublishedException("The broker accepts no messages now: " + blocked, null);
            }
            if (last.isUsable()) {
                return last;
            }
            last.cut();
        }
        CopyLine fresh = new CopyLine();
        line = fresh; // before closed is read: either close() sees the line or this code sees the close
        if (closed) {
            throw new IOException("closed");
        }
        fresh.open(factory, name + "-copies");
        return fresh;
    }

    /** Returns why the broker blocks copies, or null if it does not. */
    @Nullable
    String blocked() {
        CopyLine last = line;
        return last == null ? null : last.blocked();
    }

    /**
     * Closes the connection if a publish takes too long. If the broker stops reading, nothing else ends a blocked
     * write.
     */
    void abortIfStuck() {
        long since = busySince;
        if (since != 0 && System.nanoTime() - since > STUCK_LIMIT.toNanos()) {
            cut();
        }
    }

    @Override
    public void close() {
        closed = true;
        CopyLine last = line;
        if (last != null && busySince == 0) {
            last.close();
        }
        cut();
    }

    private void cut() {
        CopyLine last = line;
        if (last != null) {
            last.cut();
        }
    }
}
