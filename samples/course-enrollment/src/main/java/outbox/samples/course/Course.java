package outbox.samples.course;

import outbox.AfterCommitHook;
import outbox.OutboxWriter;
import outbox.dispatch.RetryPolicy;
import outbox.memory.DeliveryLog;
import outbox.memory.MemorySettings;
import outbox.poller.OutboxPoller;
import outbox.reconcile.Reconciler;
import outbox.reconcile.Schedule;
import outbox.runtime.OutboxRuntime;
import outbox.samples.course.Options.Store;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;

/** The application and its wiring. */
final class Course implements AutoCloseable {

    private static final Duration LOOK_EVERY = Duration.ofMillis(500);

    private final CourseDatabase database;
    private final OutboxRuntime runtime;
    private final OutboxWriter writer;
    private final UseCases useCases;
    private final Reconciler reconciler;
    private final CourseApi api;
    private final boolean enabled;

    /**
     * Opens the database and wires all parts.
     *
     * @throws IllegalArgumentException if a schedule or a setting in the environment is wrong; nothing is open then
     */
    Course(Options options, Map<String, String> environment) throws SQLException, IOException {
        Schedule enrollments =
                ReconcileJobs.schedule(environment, ReconcileJobs.ENROLLMENT_CRON, options.reconcileEvery());
        Schedule payouts =
                ReconcileJobs.schedule(environment, ReconcileJobs.SESSION_PAYOUT_CRON, options.reconcileEvery());
        // also used with the database: the specification defines these settings
        MemorySettings settings = MemorySettings.of(environment);
        enabled = settings.enabled();
        CourseMeters meters = new CourseMeters(ReconcileJobs.ENROLLMENT, ReconcileJobs.SESSION_PAYOUT);
        database = new CourseDatabase(options.file());

        // This statement selects the outbox in memory or the outbox in the database.
        Events events =
                options.store() == Store.JDBC ? Events.inDatabase(database) : Events.inMemory(database, enabled);

        runtime = OutboxRuntime.builder(events.connections(), events.store())
                .metrics(meters)
                .dispatcher(dispatcher -> dispatcher
                        .listenerRegistry(new Effects(database, options.slowness()).listeners(events.inbox()))
                        .maxAttempts(settings.maxAttempts())
                        .retryPolicy(RetryPolicy.series(settings.backoff()))
                        .interceptor(new DeliveryLog())
                        .deleteDone(true))
                .poller(poller -> poller.batchSize(settings.batchSize())
                        .intervalMs(settings.interval().toMillis()))
                .build();
        AfterCommitHook hook = enabled ? runtime.hook() : AfterCommitHook.NOOP;
        writer = new OutboxWriter(database.txContext(), events.store(), hook).countedBy(meters);
        useCases = new UseCases(database, writer);

        ReconcileJobs jobs = new ReconcileJobs(database, options.minimumAge());
        reconciler = Reconciler.builder()
                .connectionProvider(events.connections())
                .eventStore(events.store())
                .metrics(meters)
                .lookEvery(LOOK_EVERY)
                .job(jobs.enrollments(enrollments))
                .job(jobs.sessionPayouts(payouts))
                .build();
        api = new CourseApi(options.port(), database, useCases, reconciler, () -> meters.text(events.pending()));
    }

    /** Without INTEV_ENABLED the business works, but nothing is delivered or reconciled. */
    void start() {
        if (enabled) {
            runtime.start();
            reconciler.start();
        }
        api.start();
    }

    int port() {
        return api.port();
    }

    CourseDatabase database() {
        return database;
    }

    UseCases useCases() {
        return useCases;
    }

    OutboxWriter writer() {
        return writer;
    }

    OutboxPoller poller() {
        return runtime.poller();
    }

    Reconciler reconciler() {
        return reconciler;
    }

    /** Stops requests first, then reconciliation, then deliveries, and closes the database last. */
    @Override
    public void close() {
        api.close();
        reconciler.close();
        runtime.close();
        database.close();
    }
}
