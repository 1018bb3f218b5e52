package outbox.internal;

import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Logs the first occurrence of a recurring problem immediately, and later ones at most once a minute with the number
 * of suppressed messages, so that an outage does not fill the disk. Never throws, because it is called in code that
 * must survive errors.
 */
public final class ThrottledLog {

    private static final long PAUSE_NANOS = Duration.ofMinutes(1).toNanos();

    private final Logger log;
    private final LongSupplier nanoClock;
    private final AtomicLong nextNanos;
    private final AtomicLong leftOut = new AtomicLong();

    public ThrottledLog(Logger log) {
        this(log, System::nanoTime);
    }

    ThrottledLog(Logger log, LongSupplier nanoClock) {
        this.log = log;
        this.nanoClock = nanoClock;
        this.nextNanos = new AtomicLong(nanoClock.getAsLong());
    }

    public void log(Level level, String message, @Nullable Throwable error) {
        long now = nanoClock.getAsLong();
        long next = nextNanos.get();
        if (now - next < 0 || !nextNanos.compareAndSet(next, now + PAUSE_NANOS)) {
            leftOut.incrementAndGet();
            return;
        }
        long before = leftOut.getAndSet(0);
        try {
            log.log(
                    level,
                    before == 0 ? message : message + " (and " + before + " times more since it was last logged)",
                    error);
        } catch (Throwable e) { // there is no other place to report it
            leftOut.addAndGet(before + 1);
        }
    }
}
