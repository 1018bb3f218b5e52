package outbox.fake;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** While this is open, a class cannot log: every record fails with an exception, as when a backend is out of disk or was built against another version. */
public final class BrokenLog extends Handler implements AutoCloseable {

    private final AtomicInteger failures = new AtomicInteger();
    private final Logger logger; // held, since the log manager does not

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
