package outbox.spring.boot.monitoring;

import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.micrometer.OutboxMeters;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.spi.Leadership;
import outbox.spring.Outbox;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.NeedsTableName;
import outbox.spring.boot.internal.OutboxProperties;
import outbox.spring.boot.internal.PropertyCheck;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** Creates the meters of each outbox. They survive a stop and a restart of the application context. */
final class MetricsCustomizer implements NeedsTableName, SmartInitializingSingleton, AutoCloseable {

    private final MeterRegistry registry;
    private final OutboxMetricsProperties properties;
    private final OutboxProperties outboxes;
    private final ObjectProvider<OutboxInstance> beans;
    private final boolean ownLeadership;
    private final Map<String, OutboxMeters> meters = new HashMap<>(); // by outbox; guarded by this
    private final Map<String, String> tables = new ConcurrentHashMap<>(); // by outbox; table names with their schema
    private volatile Map<String, OutboxInstance> instances = Map.of(); // set once, when all singletons exist

    MetricsCustomizer(
            MeterRegistry registry,
            OutboxMetricsProperties properties,
            OutboxProperties outboxes,
            ObjectProvider<OutboxInstance> beans,
            boolean ownLeadership) {
        this.registry = registry;
        this.properties = properties;
        this.outboxes = outboxes;
        this.beans = beans;
        this.ownLeadership = ownLeadership;
    }

    @Override
    public void table(String outbox, String qualified) {
        tables.put(outbox, qualified);
    }

    /**
     * Collects the instances now. The meters are created with the first bean that writes, long before the instances
     * exist, and a scrape must not create the instances.
     */
    @Override
    public void afterSingletonsInstantiated() {
        instances = beans.stream().collect(Collectors.toUnmodifiableMap(OutboxInstance::name, outbox -> outbox));
    }

    @Override
    public void dispatcher(String outbox, OutboxDispatcher.Builder builder) {
        builder.metrics(of(outbox));
    }

    @Override
    public void poller(String outbox, OutboxPoller.Builder builder) {
        builder.metrics(of(outbox));
    }

    @Override
    public void purge(String outbox, OutboxPurge.Builder builder) {
        builder.metrics(of(outbox));
    }

    @Override
    public OutboxWriter writer(String outbox, OutboxWriter writer) {
        return writer.countedBy(of(outbox));
    }

    private synchronized OutboxMeters of(String outbox) {
        return meters.computeIfAbsent(outbox, this::build);
    }

    private OutboxMeters build(String outbox) {
        boolean only = outboxes.named().isEmpty();
        OutboxProperties own = only ? outboxes : outboxes.named().getOrDefault(outbox, outboxes);
        OutboxMeters.Builder builder = OutboxMeters.builder(registry, label(outbox, own))
                .maxTopics(properties.maxTopics())
                .sampleEvery(properties.sampleEvery())
                .sampleTimeout(properties.sampleTimeout());
        if (properties.backlog()) {
            builder.backlog(() -> instance(outbox).admin().backlog())
                    .dead(() -> instance(outbox).admin().deadEvents());
        }
        if (own.role().relays() && (own.singleActive().enabled() || ownLeadership)) {
            builder.relayLeader(() -> leads(outbox));
        }
        return builder.build();
    }

    /**
     * Returns the label of the table. Several outboxes may have tables with the same name in different databases.
     */
    private String label(String outbox, OutboxProperties own) {
        String spelled = own.layout().table(PropertyCheck.of("outbox"), own.table());
        String table = tables.getOrDefault(outbox, spelled);
        return outbox.equals(Outbox.DEFAULT) ? table : outbox + ":" + table;
    }

    private boolean leads(String outbox) {
        OutboxInstance instance = instances.get(outbox);
        Leadership leadership = instance == null ? null : instance.leadership();
        return leadership != null && leadership.isLeader();
    }

    private OutboxInstance instance(String outbox) {
        OutboxInstance instance = instances.get(outbox);
        if (instance == null) {
            throw new IllegalStateException("Outbox " + outbox + " is not there yet");
        }
        return instance;
    }

    @Override
    public synchronized void close() {
        meters.values().forEach(OutboxMeters::close);
        meters.clear();
    }
}
