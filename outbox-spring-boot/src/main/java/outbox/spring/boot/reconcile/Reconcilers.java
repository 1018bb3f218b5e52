package outbox.spring.boot.reconcile;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.OutboxSchema;
import outbox.reconcile.ReconcileJob;
import outbox.reconcile.Reconciler;
import outbox.spi.MetricsExporter;
import outbox.spring.Outbox;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.EngineSettings;
import outbox.spring.boot.internal.OutboxBeans;
import outbox.spring.boot.internal.OutboxFactory;
import outbox.spring.boot.internal.OutboxLifecycle;
import outbox.spring.boot.internal.OutboxNames;
import outbox.spring.boot.internal.OutboxProperties;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs the reconcile jobs of the application. Each outbox has its own reconciler. A job names its outbox with
 * {@link Outbox} on its bean. Reconcilers are created at each start, because a closed one cannot be started again.
 */
final class Reconcilers implements SmartLifecycle {

    private final ListableBeanFactory beans;
    private final OutboxReconcileProperties settings;
    private final ObjectProvider<OutboxInstance> outboxes;
    private final OutboxFactory factory;
    // by outbox; lifecycle thread of the context only
    private final Map<String, Reconciler> running = new LinkedHashMap<>();
    private volatile boolean isRunning; // written by the lifecycle thread of the context, read by any thread

    Reconcilers(
            ListableBeanFactory beans,
            OutboxReconcileProperties settings,
            ObjectProvider<OutboxInstance> outboxes,
            OutboxFactory factory) {
        this.beans = beans;
        this.settings = settings;
        this.outboxes = outboxes;
        this.factory = factory;
    }

    @Override
    public void start() {
        isRunning = true; // set first: if one reconciler fails to start, the others must be stopped
        Map<String, List<ReconcileJob>> jobs = jobs();
        outboxes.stream().filter(outbox -> jobs.containsKey(outbox.name())).forEach(outbox -> {
            prepare(outbox);
            Reconciler reconciler = reconciler(outbox, jobs.getOrDefault(outbox.name(), List.of()));
            running.put(outbox.name(), reconciler);
            reconciler.start();
        });
    }

    private Map<String, List<ReconcileJob>> jobs() {
        Map<String, List<ReconcileJob>> jobs = new LinkedHashMap<>();
        List<OutboxNames.Use> uses = new ArrayList<>();
        for (String bean : beans.getBeanNamesForType(ReconcileJob.class)) {
            String named = OutboxBeans.outboxOf(beans, bean);
            String outbox = named == null ? Outbox.DEFAULT : named;
            jobs.computeIfAbsent(outbox, first -> new ArrayList<>()).add(beans.getBean(bean, ReconcileJob.class));
            uses.add(new OutboxNames.Use(outbox, "Reconcile job " + bean));
        }
        OutboxNames.require(outboxes, uses.stream());
        return jobs;
    }

    /**
     * Creates or checks the tables in which nodes share the state of their runs, with the same settings as
     * the event table.
     */
    private void prepare(OutboxInstance outbox) {
        if (!(outbox.store() instanceof AbstractJdbcEventStore store)) {
            return;
        }
        EngineSettings engine = factory.settings(outbox.name());
        OutboxProperties.Jdbc jdbc = engine.properties().jdbc();
        if (jdbc.initializeSchema().appliesTo(outbox.dataSource())) {
            OutboxSchema.create(outbox.dataSource(), store, Capability.RECONCILE);
        }
        if (jdbc.checkSchema()) {
            List<String> missing = OutboxSchema.missing(outbox.dataSource(), store, Capability.RECONCILE);
            if (!missing.isEmpty()) {
                throw new IllegalStateException("Reconcile jobs need tables that are not there: "
                        + String.join(", ", missing)
                        + ". Create them as META-INF/outbox/schema-reconcile of outbox-jdbc says, or set "
                        + engine.check().name("jdbc.initialize-schema") + "=always.");
            }
        }
    }

    private Reconciler reconciler(OutboxInstance outbox, List<ReconcileJob> jobs) {
        Reconciler.Builder builder = Reconciler.builder()
                .connectionProvider(outbox.connections())
                .eventStore(outbox.store())
                .dryRun(settings.dryRun())
                .lookEvery(settings.lookEvery())
                .keepRuns(settings.keepRuns());
        MetricsExporter metrics = new OutboxBeans(beans).one(MetricsExporter.class, outbox.name());
        if (metrics != null) {
            builder.metrics(metrics);
        }
        String ownerId = factory.settings(outbox.name()).properties().ownerId();
        if (ownerId != null) {
            builder.ownerId(ownerId);
        }
        jobs.forEach(builder::job);
        return builder.build();
    }

    @Override
    public void stop() {
        running.forEach((outbox, reconciler) -> factory.stopBeside(outbox + "-reconciler", reconciler::close));
        running.clear();
        isRunning = false;
    }

    @Override
    public boolean isRunning() {
        return isRunning;
    }

    /** Stops before the outboxes, because the jobs write events to them, and after web requests have ended. */
    @Override
    public int getPhase() {
        return OutboxLifecycle.PHASE + 1;
    }
}
