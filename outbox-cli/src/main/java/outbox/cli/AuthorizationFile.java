package outbox.cli;

import outbox.http.HttpTransport;
import outbox.spi.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The value of the header Authorization in a file, such as {@code Bearer …}, with nothing else in it but a line break
 * at its end. Read again at most once a second, so that a renewed
 * value is used without a restart. If it cannot be read, or is not fit for a header, the value before it goes on. It
 * is never shown. Thread-safe.
 */
final class AuthorizationFile implements Supplier<String> {

    private static final Logger LOG = SafeLogger.of(AuthorizationFile.class);
    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Path file;
    private final Secrets secrets;
    private final LongSupplier nanoTime;
    private String value; // guarded by this, as everything below
    private long nextReadNanos;
    private boolean failed;

    /** @throws IllegalArgumentException that says what is wrong with the file, without what is in it */
    AuthorizationFile(String file, Secrets secrets, LongSupplier nanoTime) {
        this.file = Path.of(file);
        this.secrets = secrets;
        this.nanoTime = nanoTime;
        this.value = read();
        this.nextReadNanos = nanoTime.getAsLong() + INTERVAL_NANOS;
        secrets.add(value);
    }

    @Override
    public synchronized String get() {
        if (nanoTime.getAsLong() - nextReadNanos >= 0) {
            readAgain();
            nextReadNanos = nanoTime.getAsLong() + INTERVAL_NANOS;
        }
        return value;
    }

    private void readAgain() {
        try {
            String read = read();
            if (!read.equals(value)) {
                secrets.add(read);
                secrets.remove(value);
                value = read;
                LOG.log(Level.INFO, "The header Authorization is sent with the new value in " + file);
            }
            failed = false;
        } catch (IllegalArgumentException e) {
            if (!failed) {
                failed = true; // told once
                LOG.log(Level.WARNING, e.getMessage() + ". The value that was read last is used until then.");
            }
        }
    }

    private String read() {
        try {
            return checked(Files.readString(file).replaceFirst("\\R\\z", ""));
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "cannot read " + file + " (" + e.getClass().getSimpleName() + "): name a file in UTF-8 that this"
                            + " user may read",
                    e);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
        }
    }

    /** @throws IllegalArgumentException without the value, if it is not fit for a header */
    static String checked(String value) {
        HttpTransport.named("check").header("Authorization", value);
        return value;
    }
}
