package outbox.jdbc;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Captures the records of a logger of the library while this is open, and hides them from the console. */
final class LogLines extends Handler implements AutoCloseable {

    private final List<String> lines = new CopyOnWriteArrayList<>();
    // strong reference, because the log manager keeps only a weak one
    private final Logger logger;

    private LogLines(Logger logger) {
        this.logger = logger;
        logger.setUseParentHandlers(false);
        logger.addHandler(this);
    }

    static LogLines of(String name) {
        return new LogLines(Logger.getLogger(name));
    }

    List<String> lines() {
        return lines;
    }

    @Override
    public void publish(LogRecord record) {
        lines.add(record.getMessage());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setUseParentHandlers(true);
    }
}
