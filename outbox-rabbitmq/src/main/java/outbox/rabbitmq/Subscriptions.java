package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The subscriptions of a consumer, one after the other. The supervisor thread opens the first one, and a new one
 * whenever the connection was lost. Any thread may call the methods.
 */
final class Subscriptions {

    private enum State {
        NEW,
        RUNNING,
        CLOSED
    }

    /** Opens a connection and starts to consume. */
    interface Opener {

        Subscription open() throws IOException, TimeoutException;
    }

    private static final Logger LOG = SafeLogger.of(RabbitConsumer.class);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(4); // health must be correct within 5 s
    private static final long WATCH_SECONDS = 1;

    private final String consumer;
    private final String queue;
    private final Opener opener;
    private final Runnable watchdog;
    private final Runnable afterLoss;
    private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
    private final CountDownLatch closing = new CountDownLatch(1);
    private final AtomicReference<@Nullable Subscription> current =
            new AtomicReference<>(); // set by the supervisor, taken by close
    private volatile @Nullable String trouble = "not started"; // written by the supervisor

    /**
     * @param watchdog called at least once a second while a subscription is open, and after each loss
     * @param afterLoss called when a subscription was closed because it was lost
     */
    Subscriptions(String consumer, String queue, Opener opener, Runnable watchdog, Runnable afterLoss) {
        this.consumer = consumer;
        this.queue = queue;
        this.opener = opener;
        this.watchdog = watchdog;
        this.afterLoss = afterLoss;
    }

    /** Starts the supervisor. No effect if already started. */
    void start() {
        if (!state.compareAndSet(State.NEW, State.RUNNING)) {
            if (state.get() == State.CLOSED) {
                throw new IllegalStateException("The consumer is closed and cannot be started again; build a new one");
            }
            return;
        }
        trouble = "connecting";
        ConsumerThreads.named(consumer, "supervisor").newThread(this::supervise).start();
    }

    boolean isRunning() {
        return state.get() == State.RUNNING;
    }

    boolean isConsuming() {
        Subscription open = current.get();
        return open != null && open.isOpen() && isRunning();
    }

    /** Returns why no message can arrive. */
    String trouble() {
        return Objects.requireNonNullElse(trouble, "the connection was lost");
    }

    /** Lets the supervisor end. Returns false if this was called before. */
    boolean end() {
        if (state.getAndSet(State.CLOSED) == State.CLOSED) {
            return false;
        }
        trouble = "closed";
        closing.countDown();
        return true;
    }

    /** Returns the open subscription, which the caller has to close, or null if there is none. */
    @Nullable
    Subscription take() {
        return current.getAndSet(null);
    }

    private void supervise() {
        int failures = 0;
        do {
            try {
                Subscription open = opener.open();
                failures = 0;
                trouble = watch(open);
            } catch (IOException | TimeoutException | RuntimeException | Error e) { // nothing restarts this thread
                failures = Math.min(failures + 1, 10);
                trouble = reason(e);
                lose(current.getAndSet(null));
            }
            watchdog.run();
            if (isRunning()) {
                LOG.log(Level.WARNING, "Consumer " + consumer + " cannot consume queue " + queue + ": " + trouble);
            }
        } while (!closesWithin(pause(failures)));
        if (state.get() == State.CLOSED) {
            trouble = "closed";
        }
    }

    private static String reason(Throwable e) {
        Throwable root = e.getMessage() == null && e.getCause() != null ? e.getCause() : e;
        return root.getMessage() == null ? root.toString() : root.getMessage();
    }

    /**
     * Waits until the subscription ends and returns the reason. Closes a subscription that was opened during the close
     * of the consumer, which did not see it.
     */
    private String watch(Subscription open) {
        current.set(open);
        if (!isRunning() && current.compareAndSet(open, null)) {
            open.close();
            return "closed";
        }
        trouble = null;
        LOG.log(Level.INFO, "Consumer {0} consumes queue {1}", consumer, queue);
        while (isRunning()) {
            try {
                String why = open.end().get(WATCH_SECONDS, TimeUnit.SECONDS);
                if (current.compareAndSet(open, null)) {
                    lose(open);
                }
                return why;
            } catch (TimeoutException e) {
                watchdog.run();
            } catch (InterruptedException e) {
                LOG.log(Level.DEBUG, "Interrupt ignored: the consumer ends by close", e);
            } catch (ExecutionException e) {
                return reason(e); // cannot happen: the future never completes exceptionally
            }
        }
        return "closed";
    }

    private void lose(@Nullable Subscription last) {
        if (last != null) {
            last.close();
            afterLoss.run();
        }
    }

    /** Returns the wait before the next attempt: at most 4 s, reduced by up to 25 % at random. */
    private static Duration pause(int failures) {
        long millis = Math.min(LONGEST_PAUSE.toMillis(), 250L << failures);
        return Duration.ofMillis(millis * 3 / 4 + ThreadLocalRandom.current().nextLong(millis / 4 + 1));
    }

    private boolean closesWithin(Duration pause) {
        try {
            return closing.await(pause.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "Interrupt ignored: the consumer ends by close", e);
            return !isRunning();
        }
    }
}
