package outbox.rabbitmq;

import com.rabbitmq.client.AlreadyClosedException;
import org.jspecify.annotations.Nullable;
import outbox.rabbitmq.PublishRefusedException.Reason;
import outbox.spi.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * Publishes events in their order, on one channel at a time. A thread of its own does it, since a write waits as long as the broker does not read.
 *
 * <p>Threads: any may offer; the client's reader brings suspects; the lane's own thread does the rest. While the broker cannot be used, events wait here, and the transport puts
 * off those that wait too long.
 */
final class Lane {

    private static final Logger LOG = SafeLogger.of(Lane.class);
    private static final long PAUSE_MILLIS = 20;

    private final Broker broker;
    private final long confirmNanos;
    private final BlockingQueue<Publish> queue;
    private final Queue<Publish> suspects = new ConcurrentLinkedQueue<>();
    private final Deque<Publish> inHand =
            new ArrayDeque<>(2); // lane's thread only; could not leave: one of the queue, and a suspect before it
    private final Thread thread;
    private volatile boolean stopped;
    private @Nullable Outlet outlet; // lane's thread only

    Lane(Broker broker, Duration confirmTimeout, int capacity, TransportThreads threads) {
        this.broker = broker;
        confirmNanos = confirmTimeout.toNanos();
        queue = new ArrayBlockingQueue<>(capacity);
        thread = threads.factory().newThread(this::run);
    }

    void start() {
        thread.start();
    }

    boolean offer(Publish publish) {
        return queue.offer(publish);
    }

    /** Ends the thread; what is still here has been ended before. */
    void stop() {
        stopped = true;
        thread.interrupt();
    }

    private void run() {
        while (!stopped) {
            try {
                step();
            } catch (InterruptedException e) {
                LOG.log(Level.DEBUG, "Interrupted by the close");
            } catch (RuntimeException | Error e) { // none is known; the lane must go on
                LOG.log(Level.ERROR, "A lane to RabbitMQ failed; what it was about is put off in time", e);
            }
        }
    }

    private void step() throws InterruptedException {
        Link link = broker.usable();
        if (link == null) {
            queue.removeIf(Publish::isEnded); // they have been put off, and take the room of others
            suspects.removeIf(Publish::isEnded);
            broker.pause(PAUSE_MILLIS);
            return;
        }
        dropSilentOutlet();
        Publish next = next();
        if (next != null && !next.isEnded() && !publish(next, link)) {
            inHand.push(next);
            broker.pause(PAUSE_MILLIS);
        }
    }

    /** Whatever waits for the broker's word there has been put off, and may come again only when this outlet does not know it any more. */
    private void dropSilentOutlet() {
        Outlet current = outlet;
        if (current != null && current.isSilent(confirmNanos)) {
            outlet = null;
            LOG.log(Level.WARNING, "RabbitMQ did not confirm in time; what waits is put off, and a new channel used");
            current.close();
        }
    }

    /** Suspects were published before what is in hand, unless that is one of them. */
    private @Nullable Publish next() throws InterruptedException {
        Publish again = inHand.peek();
        if (again == null || !again.isSuspect()) {
            Publish suspect = suspects.poll();
            if (suspect != null) {
                return suspect;
            }
        }
        return again != null ? inHand.poll() : queue.poll(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Answers false if the event has not left and should be tried again here. */
    private boolean publish(Publish next, Link link) throws InterruptedException {
        String exchange = next.route().exchange();
        try {
            if (!link.hasExchange(exchange)) {
                next.refuse(Reason.NO_EXCHANGE, "there is no exchange '" + exchange + "'");
                return true;
            }
            Outlet out = outlet(link);
            if (out.holds(next)) {
                next.putOff("A message of the same id waits for the broker's word");
                return true;
            }
            if (next.isAlone()) {
                return out.awaitEmpty(confirmNanos) && out.publish(next) && out.awaitEmpty(confirmNanos);
            }
            return out.publish(next);
        } catch (IOException | AlreadyClosedException e) {
            LOG.log(Level.DEBUG, "RabbitMQ did not answer; the event waits for it", e);
            return false;
        }
    }

    private Outlet outlet(Link link) throws IOException {
        Outlet current = outlet;
        if (current == null || !current.isOf(link)) {
            current = Outlet.open(link, suspects::add);
            outlet = current;
        }
        return current;
    }
}
