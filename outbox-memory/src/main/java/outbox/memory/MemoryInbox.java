package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.inbox.Inbox;
import outbox.inbox.InboxException;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * An inbox in the memory of this process. It forgets events after a configured time, when it is full (the oldest
 * first), and when the process ends. Use it where there is no database, and for effects that may happen twice
 * after a restart.
 *
 * <p>It joins no transaction: an event counts as handled when its action has returned. If several copies of an event
 * arrive at the same time, one action runs and the others wait for its end, up to 30 seconds. The connection that an
 * action gets supports no statements. Thread-safe.
 */
public final class MemoryInbox implements Inbox {

    private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);
    private static final Duration LONGEST = Duration.ofDays(365);

    private static final MemoryEventStore NO_STATEMENTS =
            MemoryEventStore.builder().maxEvents(1).build();

    private record Key(String consumer, String eventId) {}

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition(); // signalled when an action ends
    // expiry time by key, the oldest first; guarded by lock
    private final LinkedHashMap<Key, Long> handled = new LinkedHashMap<>();
    private final Map<Key, Thread> running = new LinkedHashMap<>(); // one entry per running action; guarded by lock
    private final int maxEvents;
    private final long keepNanos;
    private final Duration longestWait;
    private final LongSupplier nanoClock;

    /** Creates an inbox that remembers up to 100,000 events for one day. */
    public MemoryInbox() {
        this(100_000, Duration.ofDays(1));
    }

    /**
     * Creates an inbox with the given bounds.
     *
     * @param keepFor must be longer than the time in which an event can be delivered again, including all retries;
     *     at most one year
     */
    public MemoryInbox(int maxEvents, Duration keepFor) {
        this(maxEvents, keepFor, LONGEST_WAIT, System::nanoTime);
    }

    MemoryInbox(int maxEvents, Duration keepFor, Duration longestWait, LongSupplier nanoClock) {
        if (maxEvents < 1) {
            throw new IllegalArgumentException("maxEvents must be positive: " + maxEvents);
        }
        if (keepFor.isNegative() || keepFor.isZero() || keepFor.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("keepFor must be positive and at most a year: " + keepFor);
        }
        this.maxEvents = maxEvents;
        this.keepNanos = keepFor.toNanos();
        this.longestWait = longestWait;
        this.nanoClock = nanoClock;
    }

    @Override
    public <X extends Exception> boolean handle(
            String consumer, String eventId, @Nullable String eventType, Inbox.Action<X> action) throws X {
        Objects.requireNonNull(action, "action");
        Key key = new Key(Objects.requireNonNull(consumer, "consumer"), Objects.requireNonNull(eventId, "eventId"));
        if (!begin(key)) {
            return false;
        }
        boolean done = false;
        try {
            // an exception of the action, even an SQLException, goes to the caller unchanged
            action.run(withoutStatements());
            done = true;
        } finally {
            end(key, done);
        }
        return true;
    }

    private static Connection withoutStatements() {
        try {
            return NO_STATEMENTS.connections().getConnection(); // needs no close, because it holds no resources
        } catch (SQLException e) {
            throw new InboxException("A connection without a database failed", e);
        }
    }

    /** Returns false if the event was already handled. */
    private boolean begin(Key key) {
        long left = longestWait.toNanos();
        lock.lock();
        try {
            while (running.containsKey(key)) {
                if (running.get(key) == Thread.currentThread()) {
                    throw new InboxException("Event " + key.eventId() + " is being handled by its own action", null);
                }
                if (left <= 0) {
                    throw new InboxException(
                            "Another copy of event " + key.eventId() + " is still being handled", null);
                }
                left = ended.awaitNanos(left);
            }
            forget();
            if (handled.containsKey(key)) {
                return false;
            }
            running.put(key, Thread.currentThread());
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InboxException("Interrupted while another copy of event " + key.eventId() + " was handled", e);
        } finally {
            lock.unlock();
        }
    }

    private void end(Key key, boolean done) {
        lock.lock();
        try {
            running.remove(key);
            if (done) {
                handled.put(key, nanoClock.getAsLong() + keepNanos);
                forget();
            }
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void forget() {
        long now = nanoClock.getAsLong();
        for (Iterator<Long> oldest = handled.values().iterator(); oldest.hasNext(); ) {
            if (oldest.next() - now > 0 && handled.size() <= maxEvents) {
                return;
            }
            oldest.remove();
        }
    }
}
