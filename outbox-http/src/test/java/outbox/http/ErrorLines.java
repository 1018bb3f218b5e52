package outbox.http;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Collects the lines that a class logs as errors, until close. */
final class ErrorLines extends Handler implements AutoCloseable {

    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Logger logger; // strong reference: a garbage-collected logger loses its handlers

    private ErrorLines(Logger logger) {
        this.logger = logger;
    }

    static ErrorLines of(Class<?> source) {
        ErrorLines lines = new ErrorLines(Logger.getLogger(source.getName()));
        lines.logger.addHandler(lines);
        return lines;
    }

    List<String> lines() {
        return lines;
    }

    @Override
    public void publish(LogRecord line) {
        if (line.getLevel().equals(Level.SEVERE)) {
            lines.add(line.getMessage());
        }
    }

    @Override
    public void flush() {
        // nothing is buffered
    }

    @Override
    public void close() {
        logger.removeHandler(this);
    }
}
