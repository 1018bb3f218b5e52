package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.LeadershipStart;
import outbox.internal.QuietLog;
import outbox.spi.Leadership;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Keeps a dispatcher from delivering and writing while another node may lead. What it accepted under a leadership that was lost stays stopped, even if this node leads again: others
 * may have had those events meanwhile.
 *
 * <p>Without a leadership everything passes.
 */
final class Term implements Leadership, LeadershipStart {

    private static final Logger LOG = SafeLogger.of(Term.class);

    private final @Nullable Leadership leadership; // null if nodes share the table by claims
    private final Runnable onEnd;
    private final QuietLog trouble = new QuietLog(LOG);
    private final AtomicLong number = new AtomicLong(); // counts the answers that this node does not lead
    private final AtomicReference<@Nullable Long> startNanos =
            new AtomicReference<>(); // of the first yes in this leadership; null before it

    Term(@Nullable Leadership leadership, Runnable onEnd) {
        this.leadership = leadership;
        this.onEnd = onEnd;
    }

    boolean isUsed() {
        return leadership != null;
    }

    /** What to note with each event that is accepted. */
    long number() {
        return number.get();
    }

    /** Whether this node may deliver the event, or write its outcome, now. */
    boolean covers(Delivery delivery) {
        return leadership == null || !isOver(delivery) && isLeader();
    }

    /** Whether the leadership under which the event was accepted was lost for good. */
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
                noteStart(); // before anybody acts on it
            }
            return leads;
        } catch (RuntimeException | Error e) { // of a leadership of the user's: it must not stop the threads that ask
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
        // Whoever gave it closes it.
    }
}
