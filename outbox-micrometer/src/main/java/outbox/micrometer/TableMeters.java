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

/** Registers the meters of a table, and takes them out again. What is registered after that leads nowhere. */
final class TableMeters {

    /** From a listener that only hands over to one that waits for a time limit; one series each, so there are few. */
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

    /**
     * The longest value of a label. Names come from event types, which other programs may write into the table at any
     * length.
     */
    private static final int MAX_LABEL_LENGTH = 160;

    private final Tags table;
    private final List<Meter> registered = new ArrayList<>(); // guarded by this, as the next
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

    /** A registry holds the state of a gauge weakly unless told otherwise, and nobody else may hold this. */
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
        return duration.getSeconds() + duration.getNano() / 1e9; // of any length
    }

    private <T extends Meter> T kept(T meter) {
        registered.add(meter);
        return meter;
    }

    synchronized void close() {
        registered.forEach(registry::remove);
        registered.clear();
        registry = new CompositeMeterRegistry(); // of no registries
    }
}
