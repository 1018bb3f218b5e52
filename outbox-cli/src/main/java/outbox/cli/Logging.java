package outbox.cli;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;

/** What the library and its pool log, a line each, on standard error; unless the user brings a configuration of java.util.logging. */
final class Logging {

    private static final String CONFIGURATION = """
            handlers = java.util.logging.ConsoleHandler
            .level = INFO
            java.util.logging.ConsoleHandler.level = ALL
            java.util.logging.ConsoleHandler.formatter = java.util.logging.SimpleFormatter
            java.util.logging.SimpleFormatter.format = %1$tFT%1$tT.%1$tL%1$tz %4$s %5$s%6$s%n
            com.zaxxer.hikari.level = WARNING
            org.mariadb.level = WARNING
            org.postgresql.level = WARNING
            """;

    private Logging() {}

    static void toStandardError() {
        if (System.getProperty("java.util.logging.config.file") != null
                || System.getProperty("java.util.logging.config.class") != null) {
            return;
        }
        try {
            LogManager.getLogManager()
                    .readConfiguration(new ByteArrayInputStream(CONFIGURATION.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new UncheckedIOException(e); // the text is in memory
        }
    }
}
