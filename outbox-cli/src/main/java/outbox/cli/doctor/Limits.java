package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The thresholds and expectations of the checks.
 *
 * @param lease how long a claim of a relay of this table is exclusive
 * @param stalled how long an event may be due without being claimed
 * @param skew how far the clocks of this machine and the database may differ
 * @param longTransaction how long a transaction may be open
 * @param types event types that have a listener or route; null if unknown
 * @param expected columns or side tables of the features that the application uses, each with its feature
 * @param without names of checks to skip
 */
public record Limits(
        Duration lease,
        Duration stalled,
        Duration skew,
        Duration longTransaction,
        @Nullable Set<String> types,
        Map<String, String> expected,
        Set<String> without) {

    public static final Limits DEFAULT = new Limits(
            Duration.ofMinutes(5),
            Duration.ofMinutes(1),
            Duration.ofSeconds(1),
            Duration.ofMinutes(5),
            null,
            Map.of(),
            Set.of());

    public Limits {
        types = types == null ? null : Set.copyOf(types);
        expected = Collections.unmodifiableMap(new LinkedHashMap<>(expected));
        without = Set.copyOf(without);
    }

    /** Returns the same limits with these columns or side tables expected. */
    Limits expecting(Map<String, String> places) {
        return new Limits(lease, stalled, skew, longTransaction, types, places, without);
    }
}
