package outbox.samples.course;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Keeps the lines of the delivery log. */
final class DeliveryLines extends Handler implements AutoCloseable {

    private final Logger logger = Logger.getLogger("outbox.memory.delivery");
    private final List<String> lines = new CopyOnWriteArrayList<>();

    DeliveryLines() {
        logger.setLevel(Level.ALL);
        logger.addHandler(this);
    }

    List<String> all() {
        return lines;
    }

    @Override
    public void publish(LogRecord line) {
        lines.add(line.getMessage());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setLevel(null);
    }
}
