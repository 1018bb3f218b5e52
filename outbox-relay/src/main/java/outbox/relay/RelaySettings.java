package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The settings of relays from environment variables, {@code OUTBOX_RELAY_*} and {@code OUTBOX_CLEANER_*}, with their
 * defaults. A blank value counts as missing. Durations are whole numbers with the units h, m, s and ms, for example
 * {@code 1h30m}. All problems are reported together.
 */
public record RelaySettings(Delivery delivery, Cleaner cleaner) {

    /**
     * How events are polled and delivered.
     *
     * @param tables the tables to relay; empty if the setting is missing
     * @param singleActive whether each relay needs a leadership, so that only one node delivers at a time
     */
    public record Delivery(
            boolean enabled,
            List<String> tables,
            boolean singleActive,
            Duration pollInterval,
            int batchSize,
            Duration lockTtl,
            int maxAttempts,
            Duration dispatchTimeout,
            int lastErrorMaxBytes) {}

    /**
     * What is purged, and when.
     *
     * @param tables the tables to purge; by default the relayed tables
     * @param deadRetention empty keeps dead events forever
     */
    public record Cleaner(
            boolean enabled,
            List<String> tables,
            Duration interval,
            Duration retention,
            Optional<Duration> deadRetention) {}

    private static final Pattern SPAN =
            Pattern.compile("(?:(?<h>\\d{1,7})h)?(?:(?<m>\\d{1,9})m(?!s))?(?:(?<s>\\d{1,9})s)?(?:(?<ms>\\d{1,12})ms)?");
    private static final Duration SHORTEST = Duration.ofMillis(10);
    private static final Duration LONGEST = Duration.ofDays(36_500);
    private static final int MAX_TABLES = 100;

    /**
     * Reads the settings from the environment of this process.
     *
     * @throws IllegalArgumentException if a variable is invalid; the message has one line for each of them
     */
    public static RelaySettings fromEnvironment() {
        return of(System.getenv());
    }

    /** Like {@link #fromEnvironment}, with the given values. Unknown names are ignored. */
    public static RelaySettings of(Map<String, String> values) {
        List<String> problems = new ArrayList<>();
        Optional<RelaySettings> settings = read(values, (name, what) -> problems.add(name + ": " + what));
        return settings.orElseThrow(() -> new IllegalArgumentException(String.join(System.lineSeparator(), problems)));
    }

    /**
     * Like {@link #of}, for a program that reports problems itself.
     *
     * @param problem called for each invalid setting, with its name and a description of the problem
     * @return empty if there was a problem
     */
    public static Optional<RelaySettings> read(Map<String, String> values, BiConsumer<String, String> problem) {
        Reader reader = new Reader(values, problem);
        List<String> tables = reader.get("OUTBOX_RELAY_TABLES", "", RelaySettings::tables, List.of());
        List<String> purged = reader.get("OUTBOX_CLEANER_TABLES", "", RelaySettings::tables, List.of());
        Duration dead = reader.get("OUTBOX_CLEANER_DEAD_RETENTION", "0", RelaySettings::retention, Duration.ZERO);
        RelaySettings settings = new RelaySettings(
                new Delivery(
                        reader.get("OUTBOX_RELAY_ENABLED", "true", RelaySettings::truth, true),
                        tables,
                        reader.get("OUTBOX_RELAY_SINGLE_ACTIVE", "true", RelaySettings::truth, true),
                        reader.get("OUTBOX_RELAY_POLL_INTERVAL", "1s", RelaySettings::span, SHORTEST),
                        reader.get("OUTBOX_RELAY_BATCH_SIZE", "100", number(1, 10_000), 1),
                        reader.get("OUTBOX_RELAY_LOCK_TTL", "60s", RelaySettings::span, SHORTEST),
                        reader.get("OUTBOX_RELAY_MAX_ATTEMPTS", "25", number(1, 1_000_000), 1),
                        reader.get("OUTBOX_RELAY_DISPATCH_TIMEOUT", "30s", RelaySettings::span, SHORTEST),
                        reader.get("OUTBOX_LAST_ERROR_MAX_BYTES", "2048", number(1, 4000), 1)),
                new Cleaner(
                        reader.get("OUTBOX_CLEANER_ENABLED", "true", RelaySettings::truth, true),
                        purged.isEmpty() ? tables : purged,
                        reader.get("OUTBOX_CLEANER_INTERVAL", "1m", RelaySettings::span, SHORTEST),
                        reader.get("OUTBOX_CLEANER_RETENTION", "168h", RelaySettings::doneRetention, SHORTEST),
                        dead.isZero() ? Optional.empty() : Optional.of(dead)));
        return reader.failed ? Optional.empty() : Optional.of(settings);
    }

    /**
     * Applies the settings to a relay of one table. Switches the purge off if the cleaner is disabled or does not
     * include this table. The caller decides whether to create a relay, and sets its leadership.
     */
    public Relay.Builder applyTo(Relay.Builder relay, String table) {
        relay.pollInterval(delivery.pollInterval())
                .batchSize(delivery.batchSize())
                .lease(delivery.lockTtl())
                .maxAttempts(delivery.maxAttempts())
                .dispatchTimeout(delivery.dispatchTimeout())
                .lastErrorMaxBytes(delivery.lastErrorMaxBytes())
                .purgeInterval(cleaner.interval())
                .retention(cleaner.retention());
        cleaner.deadRetention().ifPresent(relay::deadRetention);
        return cleaner.enabled() && cleaner.tables().contains(table) ? relay : relay.withoutPurge();
    }

    /** Reads values, and remembers whether one of them was invalid. Used by one thread. */
    private static final class Reader {

        private final Map<String, String> values;
        private final BiConsumer<String, String> problem;
        private boolean failed;

        Reader(Map<String, String> values, BiConsumer<String, String> problem) {
            this.values = values;
            this.problem = problem;
        }

        /** @param instead placeholder for an invalid value; never part of a result, because reading fails */
        <T> T get(String name, String standard, Function<String, T> parse, T instead) {
            @Nullable String value = values.get(name);
            try {
                return parse.apply(value == null || value.isBlank() ? standard : value.strip());
            } catch (IllegalArgumentException e) {
                failed = true;
                problem.accept(name, String.valueOf(e.getMessage()));
                return instead;
            }
        }
    }

    private static List<String> tables(String text) {
        if (text.isEmpty()) {
            return List.of();
        }
        Set<String> names = new LinkedHashSet<>();
        for (String part : text.split(",", -1)) {
            String name = part.strip();
            if (name.isEmpty()) {
                throw new IllegalArgumentException("names a table that is empty, in " + EventRules.show(text));
            }
            if (!names.add(name)) {
                throw new IllegalArgumentException("names " + name + " twice");
            }
        }
        if (names.size() > MAX_TABLES) {
            throw new IllegalArgumentException("names more than " + MAX_TABLES + " tables; start several processes");
        }
        return List.copyOf(names);
    }

    private static boolean truth(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        if (!Arrays.asList("true", "false").contains(lower)) {
            throw new IllegalArgumentException("must be true or false, but is " + EventRules.show(text));
        }
        return lower.equals("true");
    }

    private static Function<String, Integer> number(int least, int most) {
        return text -> {
            try {
                int value = Integer.parseInt(text);
                if (value >= least && value <= most) {
                    return value;
                }
            } catch (NumberFormatException e) {
                // handled by the throw below
            }
            throw new IllegalArgumentException(
                    "must be a whole number from " + least + " to " + most + ", but is " + EventRules.show(text));
        };
    }

    private static Duration span(String text) {
        Duration span = parseSpan(text);
        if (span.compareTo(SHORTEST) < 0 || span.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "must be at least " + SHORTEST.toMillis() + "ms, but is " + EventRules.show(text));
        }
        return span;
    }

    private static Duration retention(String text) {
        Duration span = parseSpan(text);
        if (span.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "must be at most " + LONGEST.toHours() + "h, but is " + EventRules.show(text));
        }
        return span;
    }

    /** Rejects zero. For dead events zero means "forever", so here it must not mean "at once". */
    private static Duration doneRetention(String text) {
        Duration span = retention(text);
        if (span.isZero()) {
            throw new IllegalArgumentException(
                    "must be more than 0; to keep delivered events for ever set OUTBOX_CLEANER_ENABLED to false");
        }
        return span;
    }

    /**
     * Parses a duration such as 500ms, 1s, 1h30m or 0: whole numbers with the units h, m, s and ms, the
     * largest unit first.
     *
     * @throws IllegalArgumentException if the text has any other form
     */
    public static Duration parseSpan(String text) {
        if (text.equals("0")) {
            return Duration.ZERO;
        }
        Matcher form = SPAN.matcher(text);
        if (text.isEmpty() || !form.matches()) {
            throw new IllegalArgumentException("must be a span of time such as 500ms, 30s, 1m or 168h, not negative,"
                    + " but is " + EventRules.show(text));
        }
        return Duration.ofHours(part(form, "h"))
                .plusMinutes(part(form, "m"))
                .plusSeconds(part(form, "s"))
                .plusMillis(part(form, "ms"));
    }

    private static long part(Matcher form, String unit) {
        String digits = form.group(unit);
        return digits == null ? 0 : Long.parseLong(digits);
    }
}
