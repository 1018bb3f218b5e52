package outbox.cli;

import outbox.http.HttpTransport;
import outbox.internal.text.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The value of the header Authorization, such as {@code Bearer …}, read from a file. The file contains only the value
 * and an optional line break at the end. It is read again at most once a second, so a renewed value is used without a
 * restart. If the file cannot be read, or its content is not valid in a header, the previous value stays in use. The
 * value is never printed. Thread-safe.
 */
final class AuthorizationFile implements Supplier<String> {

    private static final Logger LOG = SafeLogger.of(AuthorizationFile.class);
    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Path file;
    private final Secrets secrets;
    private final LongSupplier nanoTime;
    private String value; // guarded by this, like the two fields below
    private long nextReadNanos;
    private boolean failed;

    /** @throws IllegalArgumentException if the file cannot be used; the message does not contain the value */
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
                failed = true; // log only the first failure
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

    /**
     * @throws IllegalArgumentException if the value is not valid in a header; the message does not contain the value
     */
    static String checked(String value) {
        HttpTransport.named("check").header("Authorization", value);
        return value;
    }
}
