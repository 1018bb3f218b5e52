package outbox.samples.course;

import outbox.AfterCommitHook;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.RetryPolicies;
import outbox.memory.DeliveryLog;
import outbox.memory.MemorySettings;
import outbox.poller.OutboxPoller;
import outbox.reconcile.Reconciler;
import outbox.reconcile.Schedule;
import outbox.samples.course.Options.Store;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;

/** The application, wired by hand. */
final class Course implements AutoCloseable {

    private static final Duration LOOK_EVERY = Duration.ofMillis(500);

    private final CourseDatabase database;
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;
    private final OutboxWriter writer;
    private final UseCases useCases;
    private final Reconciler reconciler;
    private final CourseApi api;
    private final boolean enabled;

    /**
     * @throws IllegalArgumentException if the environment has a schedule or a setting that is wrong; nothing is open
     * then
     */
    Course(Options options, Map<String, String> environment) throws SQLException, IOException {
        Schedule enrollments =
                ReconcileJobs.schedule(environment, ReconcileJobs.ENROLLMENT_CRON, options.reconcileEvery());
        Schedule payouts =
                ReconcileJobs.schedule(environment, ReconcileJobs.SESSION_PAYOUT_CRON, options.reconcileEvery());
        MemorySettings settings = MemorySettings.of(environment); // of the database, too: they are those of the text
        enabled = settings.enabled();
        CourseMeters meters = new CourseMeters(ReconcileJobs.ENROLLMENT, ReconcileJobs.SESSION_PAYOUT);
        database = new CourseDatabase(options.file());

        // The line that turns the outbox in memory into the one in the database.
        Events events =
                options.store() == Store.JDBC ? Events.inDatabase(database) : Events.inMemory(database, enabled);

        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(events.connections())
                .eventStore(events.store())
                .listenerRegistry(new Effects(database, options.slowness()).listeners(events.inbox()))
                .maxAttempts(settings.maxAttempts())
                .retryPolicy(RetryPolicies.series(settings.backoff()))
                .interceptor(new DeliveryLog())
                .metrics(meters)
                .deleteDone(true)
                .build();
        poller = OutboxPoller.builder()
                .connectionProvider(events.connections())
                .eventStore(events.store())
                .handler(new DispatcherPollerHandler(dispatcher))
                .batchSize(settings.batchSize())
                .intervalMs(settings.interval().toMillis())
                .metrics(meters)
                .build();
        AfterCommitHook hook = enabled ? new DispatcherCommitHook(dispatcher) : AfterCommitHook.NOOP;
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

    /** Without INTEV_ENABLED the business goes on, and nothing is delivered or mended. */
    void start() {
        if (enabled) {
            poller.start();
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

    Reconciler reconciler() {
        return reconciler;
    }

    /** No new requests, no new events, then those under way; the database last. */
    @Override
    public void close() {
        api.close();
        reconciler.close();
        poller.close();
        dispatcher.close();
        database.close();
    }
}
