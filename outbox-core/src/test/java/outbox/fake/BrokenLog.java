package outbox.fake;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * While this object is open, a class cannot log: every record fails with an exception, as if the log backend had no
 * disk space or an incompatible version.
 */
public final class BrokenLog extends Handler implements AutoCloseable {

    private final AtomicInteger failures = new AtomicInteger();
    private final Logger logger; // strong reference: the log manager keeps only a weak one

    private BrokenLog(Logger logger) {
        this.logger = logger;
        logger.setUseParentHandlers(false);
        logger.addHandler(this);
    }

    public static BrokenLog of(Class<?> source) {
        return new BrokenLog(Logger.getLogger(source.getName()));
    }

    @Override
    public void publish(LogRecord record) {
        failures.incrementAndGet();
        throw new IllegalStateException("cannot log");
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setUseParentHandlers(true);
    }

    public int failures() {
        return failures.get();
    }
}
