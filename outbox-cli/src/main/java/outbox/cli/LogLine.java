package outbox.cli;

import outbox.internal.text.PrintableText;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.logging.Formatter;
import java.util.logging.Level;
import java.util.logging.LogRecord;

/** Formats log lines, also those of drivers and the pool. Lines are printable and contain no secrets. */
abstract class LogLine extends Formatter {

    private final Secrets secrets;

    private LogLine(Secrets secrets) {
        this.secrets = secrets;
    }

    String message(LogRecord record) {
        return PrintableText.of(secrets.hide(formatMessage(record)));
    }

    /** The stack trace without secrets. */
    String trace(Throwable thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text, true));
        return secrets.hide(text.toString());
    }

    /** For people: time, level and message, followed by the stack trace. */
    static final class Text extends LogLine {

        private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSxx");

        Text(Secrets secrets) {
            super(secrets);
        }

        @Override
        public String format(LogRecord record) {
            StringBuilder line = new StringBuilder()
                    .append(TIME.format(record.getInstant().atZone(ZoneId.systemDefault())))
                    .append(' ')
                    .append(record.getLevel().getName())
                    .append(' ')
                    .append(message(record))
                    .append(System.lineSeparator());
            if (record.getThrown() != null) {
                trace(record.getThrown())
                        .lines()
                        .forEach(traced -> line.append(traced.startsWith("\t") ? "\t" : "")
                                .append(PrintableText.of(traced.strip()))
                                .append(System.lineSeparator()));
            }
            return line.toString();
        }
    }

    /** For programs: a JSON object on one line, with the fields of the event that the line is about. */
    static final class Json extends LogLine {

        Json(Secrets secrets) {
            super(secrets);
        }

        @Override
        public String format(LogRecord record) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("time", record.getInstant().toString());
            line.put("level", level(record.getLevel()));
            line.put("logger", String.valueOf(record.getLoggerName()));
            line.put("thread", Thread.currentThread().getName());
            line.put("message", message(record));
            line.putAll(LoggedFields.current());
            if (record.getThrown() != null) {
                line.put("stackTrace", trace(record.getThrown()));
            }
            return outbox.cli.Json.line(line) + "\n";
        }

        private static String level(Level level) {
            int value = level.intValue();
            if (value >= Level.SEVERE.intValue()) {
                return "ERROR";
            }
            if (value >= Level.WARNING.intValue()) {
                return "WARNING";
            }
            return value >= Level.INFO.intValue() ? "INFO" : "DEBUG";
        }
    }
}
