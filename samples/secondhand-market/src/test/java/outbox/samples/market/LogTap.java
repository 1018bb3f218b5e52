package outbox.samples.market;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Keeps the log lines of the market with their MDC fields. */
final class LogTap extends AppenderBase<ILoggingEvent> implements AutoCloseable {

    private final List<ILoggingEvent> lines = new CopyOnWriteArrayList<>();
    private final Logger logger;

    LogTap() {
        this("outbox.samples.market");
    }

    /** Keeps the lines of this logger and its children. */
    LogTap(String name) {
        logger = (Logger) LoggerFactory.getLogger(name);
        start();
        logger.addAppender(this);
    }

    @Override
    protected void append(ILoggingEvent line) {
        line.getMDCPropertyMap(); // copies the current MDC into the event
        lines.add(line);
    }

    List<ILoggingEvent> all(Level level, String text) {
        return lines.stream()
                .filter(line -> line.getLevel().equals(level)
                        && line.getFormattedMessage().contains(text))
                .toList();
    }

    ILoggingEvent one(Level level, String text) {
        List<ILoggingEvent> found = all(level, text);
        if (found.size() != 1) {
            throw new AssertionError(found.size() + " lines of " + level + " with " + text);
        }
        return found.get(0);
    }

    @Override
    public void close() {
        logger.detachAppender(this);
    }
}
