package outbox.rabbitmq;

import com.rabbitmq.client.AlreadyClosedException;
import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.rabbitmq.PublishRefusedException.Reason;

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
 * Publishes events in order, on one channel at a time. It has its own thread, because a write blocks while the broker
 * does not read.
 *
 * <p>Threads: any thread may call offer; the reader thread of the client adds suspects; all other work runs on the
 * lane's thread. While the broker cannot be used, events wait here, and the transport postpones events that wait too
 * long.
 */
final class Lane {

    private static final Logger LOG = SafeLogger.of(Lane.class);
    private static final long PAUSE_MILLIS = 20;

    private final Broker broker;
    private final long confirmNanos;
    private final BlockingQueue<Publish> queue;
    private final Queue<Publish> suspects = new ConcurrentLinkedQueue<>();
    private final Deque<Publish> inHand =
            new ArrayDeque<>(2); // lane's thread only: not published yet, one of the queue and a suspect
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

    /** Ends the thread. The events that are still queued were already completed by the caller. */
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
            } catch (RuntimeException | Error e) { // not expected; the lane must continue
                LOG.log(
                        Level.ERROR,
                        "A lane to RabbitMQ failed;" + " its current event is postponed when its time limit passes",
                        e);
            }
        }
    }

    private void step() throws InterruptedException {
        Link link = broker.usable();
        if (link == null) {
            queue.removeIf(Publish::isEnded); // they were postponed and occupy queue capacity
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

    /**
     * Closes a channel that no longer confirms. Its messages were postponed, and may be published again only after
     * their old tracker is closed.
     */
    private void dropSilentOutlet() {
        Outlet current = outlet;
        if (current != null && current.isSilent(confirmNanos)) {
            outlet = null;
            LOG.log(
                    Level.WARNING,
                    "RabbitMQ did not confirm in time;"
                            + " the waiting events are postponed and a new channel is opened");
            current.close();
        }
    }

    /**
     * Returns the next event. Suspects come before the events in hand, unless the event in hand is itself a suspect.
     */
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

    /** Returns false if the event was not published and this lane must try it again. */
    private boolean publish(Publish next, Link link) throws InterruptedException {
        String exchange = next.route().exchange();
        try {
            if (!link.hasExchange(exchange)) {
                next.refuse(Reason.NO_EXCHANGE, "there is no exchange '" + exchange + "'");
                return true;
            }
            Outlet out = outlet(link);
            if (out.holds(next)) {
                next.putOff("A message with the same id is waiting for its confirm");
                return true;
            }
            if (next.isAlone()) {
                return out.awaitEmpty(confirmNanos) && out.publish(next) && out.awaitEmpty(confirmNanos);
            }
            return out.publish(next);
        } catch (IOException | AlreadyClosedException e) {
            LOG.log(Level.DEBUG, "RabbitMQ did not respond; the event waits", e);
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
