package outbox.cli;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;

/**
 * Sends the log of the library and its pool to standard error, one line per record. A configuration of
 * java.util.logging that the user provides has precedence.
 */
final class Logging {

    /** The format of a log line. */
    enum Format {
        TEXT,
        JSON;

        static Format parse(String text) {
            for (Format format : values()) {
                if (format.name().toLowerCase(Locale.ROOT).equals(text)) {
                    return format;
                }
            }
            throw new IllegalArgumentException("must be text or json");
        }
    }

    private static final String CONFIGURATION = """
            handlers = java.util.logging.ConsoleHandler
            .level = INFO
            java.util.logging.ConsoleHandler.level = ALL
            java.util.logging.ConsoleHandler.encoding = UTF-8
            com.zaxxer.hikari.level = WARNING
            org.mariadb.level = WARNING
            org.postgresql.level = WARNING
            """;

    private static volatile Format current = Format.TEXT; // one per process; written by the starting thread

    private Logging() {}

    static void toStandardError(Format format, Secrets secrets) {
        if (System.getProperty("java.util.logging.config.file") != null
                || System.getProperty("java.util.logging.config.class") != null) {
            return;
        }
        try {
            LogManager.getLogManager()
                    .readConfiguration(new ByteArrayInputStream(CONFIGURATION.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new UncheckedIOException(e); // cannot happen: the text is in memory
        }
        current = format;
        for (Handler handler : LogManager.getLogManager().getLogger("").getHandlers()) {
            handler.setFormatter(formatter(format, secrets));
        }
    }

    static Format format() {
        return current;
    }

    private static Formatter formatter(Format format, Secrets secrets) {
        return format == Format.JSON ? new LogLine.Json(secrets) : new LogLine.Text(secrets);
    }

    /**
     * Prints a message for the user, as a JSON log line if the log is JSON. It does not use a logger, because the log
     * manager closes its handlers as soon as the process is told to stop.
     */
    static void say(Io io, Level level, String text) {
        if (current == Format.JSON) {
            LogRecord record = new LogRecord(level, text);
            record.setLoggerName(OutboxCommand.class.getName());
            io.err().print(formatter(current, io.secrets()).format(record));
            io.err().flush();
        } else {
            io.warn(text);
        }
    }
}
