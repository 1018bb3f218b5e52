package outbox.samples.demo;

import java.io.IOException;
import java.nio.file.Path;
import java.util.logging.FileHandler;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Redirects the log of the whole process from the terminal to a file. */
final class LogFile implements AutoCloseable {

    private final Path path;
    private final FileHandler handler;

    LogFile(Path path) throws IOException {
        this.path = path;
        handler = new FileHandler(path.toString());
        handler.setFormatter(new SimpleFormatter());
        LogManager.getLogManager().reset(); // removes the handler that writes to the terminal
        Logger.getLogger("").addHandler(handler);
    }

    Path path() {
        return path;
    }

    @Override
    public void close() {
        handler.close();
    }
}
