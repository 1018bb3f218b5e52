package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import org.jspecify.annotations.Nullable;
import outbox.admin.Backlog;

import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** The gauges of an outbox table whose values are read from the table. */
final class SampledMeters {

    /** How much less often than the backlog dead events are counted, because the count may read the whole table. */
    private static final int DEAD_EVERY = 6;

    private final TableMeters meters;
    private final String table;
    private final Duration every;
    private final Duration timeout;

    SampledMeters(TableMeters meters, String table, Duration every, Duration timeout) {
        this.meters = meters;
        this.table = table;
        this.every = every;
        this.timeout = timeout;
    }

    /** Registers the gauges for which there is a source. */
    void register(@Nullable Supplier<Backlog> backlog, @Nullable LongSupplier dead) {
        if (backlog == null && dead == null) {
            return;
        }
        Counter failures = meters.counter("outbox.sample.failures", "Looks at the table that failed or took too long");
        TableSampler<Long> deadSampler =
                dead == null ? null : sampler("dead events", dead::getAsLong, every.multipliedBy(DEAD_EVERY), failures);
        if (deadSampler != null) {
            meters.gauge("outbox.dead.events", "Events that are DEAD", deadSampler, SampledMeters::dead);
        }
        if (backlog != null) {
            register(sampler("backlog", backlog, every, failures), deadSampler);
        }
    }

    private <T> TableSampler<T> sampler(String what, Supplier<T> source, Duration interval, Counter failures) {
        return new TableSampler<>(what + " of table " + table, source, interval, timeout, failures, System::nanoTime);
    }

    private void register(TableSampler<Backlog> sampler, @Nullable TableSampler<Long> dead) {
        meters.gauge(
                "outbox.pending", "Rows that are not delivered", sampler, of(backlog -> unpublished(backlog, dead)));
        meters.gauge("outbox.waiting", "Events that are NEW or RETRY", sampler, of(Backlog::pending));
        meters.gauge("outbox.locked", "Undelivered events that are claimed", sampler, of(Backlog::locked));
        meters.seconds(
                "outbox.oldest.pending.age",
                "Age of the oldest pending event",
                sampler,
                of -> of.age(backlog -> seconds(backlog.oldestPendingAge())));
        meters.seconds(
                "outbox.overdue.age",
                "How long the event that is due longest waits",
                sampler,
                of -> of.age(backlog -> seconds(backlog.longestOverdue())));
    }

    /**
     * Returns the undelivered rows, including dead events. If the backlog does not count dead events, uses the last
     * count.
     */
    private static double unpublished(Backlog backlog, @Nullable TableSampler<Long> dead) {
        Long counted = dead == null ? null : dead.last();
        return Math.max(backlog.unpublished(), backlog.pending() + (counted == null ? 0 : counted));
    }

    /** Returns the last count of any age: dead events stay dead until a person acts. */
    private static double dead(TableSampler<Long> sampler) {
        Long counted = sampler.last();
        return counted == null ? Double.NaN : counted;
    }

    private static double seconds(@Nullable Duration age) {
        return age == null ? 0 : TableMeters.inSeconds(age);
    }

    private static ToDoubleFunction<TableSampler<Backlog>> of(ToDoubleFunction<Backlog> value) {
        return sampler -> {
            Backlog backlog = sampler.current();
            return backlog == null ? Double.NaN : value.applyAsDouble(backlog);
        };
    }
}
