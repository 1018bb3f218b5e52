package outbox.internal.text;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.ResourceBundle;

/**
 * The logger for all code of the library. Every message, parameter and throwable passes through
 * {@link PrintableText}, so that the data of an event cannot forge a log line, regardless of the log call. Tests
 * reject {@link System#getLogger} elsewhere.
 *
 * <p>If the text of a throwable or of one of its causes is not printable, a copy with the same stack trace is
 * logged. Messages are truncated to {@value #MAX_LENGTH} characters. Thread-safe.
 */
public final class SafeLogger implements System.Logger {

    static final int MAX_LENGTH = 16_384;

    private final System.Logger target;

    private SafeLogger(System.Logger target) {
        this.target = target;
    }

    /** Returns a logger with the name of the class. */
    public static System.Logger of(Class<?> source) {
        return named(source.getName());
    }

    public static System.Logger named(String name) {
        return new SafeLogger(System.getLogger(name));
    }

    @Override
    public String getName() {
        return target.getName();
    }

    @Override
    public boolean isLoggable(Level level) {
        return target.isLoggable(level);
    }

    @Override
    public void log(
            Level level, @Nullable ResourceBundle bundle, @Nullable String message, @Nullable Throwable thrown) {
        if (target.isLoggable(level)) {
            target.log(level, bundle, text(message), thrown == null ? null : LoggedException.printable(thrown));
        }
    }

    @Override
    public void log(
            Level level,
            @Nullable ResourceBundle bundle,
            @Nullable String format,
            @Nullable Object @Nullable ... parameters) {
        if (target.isLoggable(level)) {
            target.log(
                    level,
                    bundle,
                    text(format),
                    parameters == null
                            ? null
                            : Arrays.stream(parameters)
                                    .map(SafeLogger::parameter)
                                    .toArray());
        }
    }

    private static @Nullable Object parameter(@Nullable Object value) {
        return value == null || value instanceof Number ? value : text(value.toString());
    }

    private static @Nullable String text(@Nullable String message) {
        return message == null ? null : PrintableText.of(message, MAX_LENGTH);
    }
}
