package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.LeadershipStart;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.Leadership;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Prevents a dispatcher from delivering and writing while another node may be the leader. Events that were accepted
 * under a lost leadership stay stopped, even if this node becomes the leader again: other nodes may have processed
 * them in the meantime.
 *
 * <p>Without a leadership, all events pass.
 */
final class LeadershipFence implements Leadership, LeadershipStart {

    private static final Logger LOG = SafeLogger.of(LeadershipFence.class);

    private final @Nullable Leadership leadership; // null if nodes share the table by claims
    private final Runnable onEnd;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    // number of times that this node was found not to be the leader
    private final AtomicLong number = new AtomicLong();
    // when this node was first seen as leader in this leadership; null before that
    private final AtomicReference<@Nullable Long> startNanos = new AtomicReference<>();

    LeadershipFence(@Nullable Leadership leadership, Runnable onEnd) {
        this.leadership = leadership;
        this.onEnd = onEnd;
    }

    boolean isUsed() {
        return leadership != null;
    }

    /** Returns the number to store with each accepted event. */
    long number() {
        return number.get();
    }

    /** Whether this node may deliver the event, or write its outcome, now. */
    boolean covers(Delivery delivery) {
        return leadership == null || !isOver(delivery) && isLeader();
    }

    /** Whether the leadership under which the event was accepted is lost. */
    boolean isOver(Delivery delivery) {
        return delivery.term() != number.get();
    }

    @Override
    public boolean lead() {
        if (leadership == null) {
            return true;
        }
        boolean leads = false;
        try {
            leads = leadership.lead();
        } finally {
            if (!leads) {
                number.incrementAndGet();
                startNanos.set(null);
                onEnd.run();
            }
        }
        if (leads) {
            noteStart();
        }
        return leads;
    }

    @Override
    public boolean isLed() {
        return leadership == null || leadership.isLed();
    }

    @Override
    public boolean isLeader() {
        try {
            boolean leads = leadership == null || leadership.isLeader();
            if (leads) {
                noteStart(); // before the caller acts on it
            }
            return leads;
        } catch (RuntimeException | Error e) { // from a custom leadership; the calling threads must continue
            trouble.log(Level.ERROR, "The leadership failed to say whether this node leads; taken for a no", e);
            return false;
        }
    }

    private void noteStart() {
        if (startNanos.get() == null) {
            startNanos.compareAndSet(null, System.nanoTime());
        }
    }

    @Override
    public long startNanos() {
        Long noted = startNanos.get();
        return noted == null ? System.nanoTime() : noted;
    }

    @Override
    public void close() {
        // The owner of the leadership closes it.
    }
}
