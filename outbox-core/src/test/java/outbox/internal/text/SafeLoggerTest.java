package outbox.internal.text;

import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.System.Logger;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;

import static org.assertj.core.api.Assertions.assertThat;

class SafeLoggerTest {

    private static final String FORGED = "id\r\n2026-01-01 SEVERE all lost\u001b[2J\u202e";
    private final Logger log = SafeLogger.of(SafeLoggerTest.class);

    @Test
    void messages_parameters_and_suppliers_are_printable() {
        List<LogRecord> records = records(() -> {
            log.log(Logger.Level.WARNING, "Event " + FORGED);
            log.log(Logger.Level.WARNING, "Event {0} of {1}", FORGED, 7);
            log.log(Logger.Level.WARNING, () -> "Event " + FORGED);
            log.log(Logger.Level.WARNING, "x".repeat(1_000_000));
        });

        assertThat(records)
                .hasSize(4)
                .allSatisfy(record -> assertThat(new SimpleFormatter().formatMessage(record))
                        .doesNotContain("\r", "\n", "\u001b", "\u202e")
                        .hasSizeLessThanOrEqualTo(SafeLogger.MAX_LENGTH));
        assertThat(new SimpleFormatter().formatMessage(records.get(1))).contains("\\u001b[2J\\u202e of 7");
    }

    @Test
    void a_throwable_with_a_harmless_text_is_logged_itself() {
        Exception harmless = new IllegalStateException("no", new IllegalArgumentException("why"));

        assertThat(records(() -> log.log(Logger.Level.ERROR, "failed", harmless)))
                .singleElement()
                .satisfies(record -> assertThat(record.getThrown()).isSameAs(harmless));
    }

    @Test
    void a_throwable_cannot_forge_a_line_by_itself_its_cause_or_what_it_suppressed() {
        Exception cause = new IllegalArgumentException(FORGED);
        Exception suppressed = new IllegalStateException(FORGED);
        Exception thrown = new IllegalStateException("outer", cause);
        thrown.addSuppressed(suppressed);

        LogRecord record =
                records(() -> log.log(Logger.Level.ERROR, "failed", thrown)).get(0);

        StringWriter trace = new StringWriter();
        record.getThrown().printStackTrace(new PrintWriter(trace, true));
        assertThat(trace.toString())
                .contains(
                        "java.lang.IllegalStateException: outer",
                        "Caused by: java.lang.IllegalArgumentException: id\\r\\n2026",
                        "Suppressed: java.lang.IllegalStateException: id\\r\\n2026",
                        "at " + SafeLoggerTest.class.getName())
                .doesNotContain("\n2026", "\u001b", "\u202e");
    }

    @Test
    void a_throwable_that_cannot_be_read_or_is_a_circle_is_logged_too() {
        Exception hostile = new IllegalStateException() {
            @Override
            public String getMessage() {
                throw new IllegalStateException("no text");
            }
        };
        Exception one = new IllegalStateException("one\n");
        one.initCause(new IllegalStateException("other", one));

        List<LogRecord> records = records(() -> {
            log.log(Logger.Level.ERROR, "failed", hostile);
            log.log(Logger.Level.ERROR, "failed", one);
        });

        assertThat(records.get(0).getThrown().toString()).contains("its text cannot be read");
        assertThat(records.get(1).getThrown().toString()).isEqualTo("java.lang.IllegalStateException: one\\n");
    }

    private static List<LogRecord> records(Runnable action) {
        java.util.logging.Logger target = java.util.logging.Logger.getLogger(SafeLoggerTest.class.getName());
        List<LogRecord> records = new ArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                records.add(record);
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        target.setLevel(Level.ALL);
        target.setUseParentHandlers(false);
        target.addHandler(handler);
        try {
            action.run();
        } finally {
            target.removeHandler(handler);
            target.setUseParentHandlers(true);
        }
        return records;
    }
}
