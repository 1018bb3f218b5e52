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
 * The settings of relays by their names in the environment, {@code OUTBOX_RELAY_*} and {@code OUTBOX_CLEANER_*}, with
 * their defaults. A blank value is none. Spans of time are whole numbers with the units h, m, s and ms, as in
 * {@code 1h30m}. All that is wrong is told at once.
 */
public record RelaySettings(Delivery delivery, Cleaner cleaner) {

    /**
     * How events are taken and tried.
     *
     * @param tables what to relay; empty if nothing is named
     * @param singleActive whether each relay needs a leadership, so that one node delivers at a time
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
     * @param tables those that are relayed, if none is named
     * @param deadRetention empty keeps dead events for ever
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
     * The settings in the environment of this process.
     *
     * @throws IllegalArgumentException with a line for each variable that is wrong
     */
    public static RelaySettings fromEnvironment() {
        return of(System.getenv());
    }

    /** The same from other values. Names that are not known are ignored. */
    public static RelaySettings of(Map<String, String> values) {
        List<String> problems = new ArrayList<>();
        Optional<RelaySettings> settings = read(values, (name, what) -> problems.add(name + ": " + what));
        return settings.orElseThrow(() -> new IllegalArgumentException(String.join(System.lineSeparator(), problems)));
    }

    /**
     * The same for a program that tells problems in its own way.
     *
     * @param problem is called with the name of each setting that is wrong, and what is wrong with it
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
     * Gives the settings to a relay of one of the tables. A purge is switched off if the cleaner is, or if it has not
     * got this table. Whether to make a relay at all, and its leadership, are left to the caller.
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

    /** Reads values, and remembers whether one of them was wrong. */
    private static final class Reader {

        private final Map<String, String> values;
        private final BiConsumer<String, String> problem;
        private boolean failed;

        Reader(Map<String, String> values, BiConsumer<String, String> problem) {
            this.values = values;
            this.problem = problem;
        }

        /** @param instead what goes on for now if the value is wrong; it is never used in the end */
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
                // the same refusal
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

    /** Zero means "for ever" for dead events, so here it must not mean "at once". */
    private static Duration doneRetention(String text) {
        Duration span = retention(text);
        if (span.isZero()) {
            throw new IllegalArgumentException(
                    "must be more than 0; to keep delivered events for ever set OUTBOX_CLEANER_ENABLED to false");
        }
        return span;
    }

    /**
     * Reads a span of time such as 500ms, 1s, 1h30m or 0: whole numbers with the units h, m, s and ms, the largest
     * first.
     *
     * @throws IllegalArgumentException if it is anything else
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
