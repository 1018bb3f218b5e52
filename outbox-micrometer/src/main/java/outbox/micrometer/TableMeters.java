package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/**
 * Registers the meters of a table and removes them on close. Meters that are registered after close have no effect.
 */
final class TableMeters {

    /** Buckets from fast listeners to listeners that reach a time limit. Each bucket is a series, so there are few. */
    private static final Duration[] BUCKETS = {
        Duration.ofMillis(1),
        Duration.ofMillis(5),
        Duration.ofMillis(10),
        Duration.ofMillis(25),
        Duration.ofMillis(50),
        Duration.ofMillis(100),
        Duration.ofMillis(250),
        Duration.ofMillis(500),
        Duration.ofSeconds(1),
        Duration.ofMillis(2500),
        Duration.ofSeconds(5),
        Duration.ofSeconds(10),
        Duration.ofSeconds(30),
        Duration.ofSeconds(60)
    };

    /** The maximum length of a label value. Event types can be written by other programs and have any length. */
    private static final int MAX_LABEL_LENGTH = 160;

    private final Tags table;
    private final List<Meter> registered = new ArrayList<>(); // guarded by this, like registry
    private MeterRegistry registry;

    TableMeters(MeterRegistry registry, String table) {
        this.registry = registry;
        this.table = Tags.of("table", table);
    }

    synchronized Counter counter(String name, String description, String... labels) {
        return kept(Counter.builder(name)
                .description(description)
                .tags(table.and(labels))
                .register(registry));
    }

    synchronized Timer timer(String name, String description, String... labels) {
        return kept(Timer.builder(name)
                .description(description)
                .tags(table.and(labels))
                .serviceLevelObjectives(BUCKETS)
                .register(registry));
    }

    GaugeValue gauge(String name, String description, String... labels) {
        GaugeValue value = new GaugeValue();
        gauge(name, description, value, GaugeValue::get, labels);
        return value;
    }

    /**
     * Registers a gauge with a strong reference: by default a registry holds the state weakly, and nothing else may
     * hold it.
     */
    synchronized <T> void gauge(String name, String description, T state, ToDoubleFunction<T> value, String... labels) {
        kept(Gauge.builder(name, state, value)
                .description(description)
                .tags(table.and(labels))
                .strongReference(true)
                .register(registry));
    }

    GaugeValue seconds(String name, String description) {
        GaugeValue value = new GaugeValue();
        seconds(name, description, value, GaugeValue::get);
        return value;
    }

    synchronized <T> void seconds(String name, String description, T state, ToDoubleFunction<T> value) {
        kept(TimeGauge.builder(name, state, TimeUnit.SECONDS, value)
                .description(description)
                .tags(table)
                .strongReference(true)
                .register(registry));
    }

    /** Whether a name is short enough for the value of a label. */
    static boolean isLabel(String name) {
        return name.length() <= MAX_LABEL_LENGTH;
    }

    static double inSeconds(Duration duration) {
        return duration.getSeconds() + duration.getNano() / 1e9; // works for any duration
    }

    private <T extends Meter> T kept(T meter) {
        registered.add(meter);
        return meter;
    }

    synchronized void close() {
        registered.forEach(registry::remove);
        registered.clear();
        registry = new CompositeMeterRegistry(); // a composite without registries ignores all values
    }
}
