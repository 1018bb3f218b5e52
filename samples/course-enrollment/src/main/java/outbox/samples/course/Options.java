package outbox.samples.course;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The options of the command line. */
record Options(
        Store store, @Nullable Path file, int port, Duration reconcileEvery, Duration minimumAge, Duration slowness) {

    static final String USAGE = """
            Enrolment in courses over HTTP, with an outbox in memory or in the database.

            Usage: ./outbox course-enrollment [OPTIONS]

              --store=memory|jdbc    where events are; default memory
              --file=PATH            where business data are; default in memory
              --port=N               on which to listen, 0 for any; default 8080
              --reconcile-every=MS   how often to look for what was lost; default 60000
              --minimum-age=MS       of what is looked at; default 30000
              --slow=MS              how long each effect takes; default 0
              --help                 this text

            RECONCILE_ENROLLMENT_CRON and RECONCILE_SESSION_PAYOUT_CRON in the environment
            take the place of --reconcile-every. INTEV_ENABLED, INTEV_DISPATCH_INTERVAL_MS,
            INTEV_BATCH_SIZE, INTEV_MAX_ATTEMPTS and INTEV_BACKOFF_SERIES set the delivery;
            another name that begins with INTEV_ is refused.""";

    /** Where events are stored. */
    enum Store {
        MEMORY,
        JDBC;

        static Store parse(String name) {
            for (Store store : values()) {
                if (store.toString().equals(name)) {
                    return store;
                }
            }
            throw new IllegalArgumentException("--store must be one of "
                    + Arrays.stream(values()).map(Store::toString).collect(Collectors.joining(", ")) + ", not '" + name
                    + "'");
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Parses the arguments. Throws with a message for the user if an argument is wrong. */
    static Options parse(List<String> args) {
        Options options =
                new Options(Store.MEMORY, null, 8080, Duration.ofMinutes(1), Duration.ofSeconds(30), Duration.ZERO);
        for (String arg : args) {
            int equals = arg.indexOf('=');
            options = options.with(
                    equals < 0 ? arg : arg.substring(0, equals), equals < 0 ? "" : arg.substring(equals + 1));
        }
        return options;
    }

    private Options with(String name, String value) {
        return switch (name) {
            case "--store" -> new Options(Store.parse(value), file, port, reconcileEvery, minimumAge, slowness);
            case "--file" -> new Options(store, path(value), port, reconcileEvery, minimumAge, slowness);
            case "--port" ->
                new Options(store, file, number(name, value, 0, 65_535), reconcileEvery, minimumAge, slowness);
            case "--reconcile-every" -> new Options(store, file, port, millis(name, value, 1000), minimumAge, slowness);
            case "--minimum-age" -> new Options(store, file, port, reconcileEvery, millis(name, value, 0), slowness);
            case "--slow" -> new Options(store, file, port, reconcileEvery, minimumAge, millis(name, value, 0));
            default -> throw new IllegalArgumentException("Unknown argument '" + name + "'. See --help.");
        };
    }

    private static Path path(String value) {
        if (value.isBlank()) {
            throw new IllegalArgumentException("--file needs a path");
        }
        return Path.of(value);
    }

    private static Duration millis(String name, String value, int min) {
        return Duration.ofMillis(number(name, value, min, 3_600_000));
    }

    private static int number(String name, String value, int min, int max) {
        if (value.matches("[0-9]{1,8}")) {
            int number = Integer.parseInt(value);
            if (number >= min && number <= max) {
                return number;
            }
        }
        throw new IllegalArgumentException(
                name + " needs a whole number from " + min + " to " + max + ", but got '" + value + "'");
    }
}
