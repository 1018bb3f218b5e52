package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.internal.ClaimTokens;
import outbox.internal.GuardedMetrics;
import outbox.internal.QuietLog;
import outbox.internal.StoreAccess;
import outbox.internal.Threads;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.ReconcilingEventStore;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The safety net under an outbox: jobs that look in business tables for facts whose event or effect is missing, and write the event. It is delivered by whoever delivers the others.
 *
 * <p>With a {@link ReconcilingEventStore}, as those for JDBC are, any number of nodes may have the same jobs: each runs on one of them at a time, its checkpoint is moved in the transaction
 * that writes the events, and a node that lost a job to another writes nothing any more. With another store, such as one in memory, all that is known is in this process.
 *
 * <p>A job that throws or hangs harms neither other jobs nor its own next run. Thread-safe. {@link #run} may be called by hand, with or without {@link #start()}.
 */
public final class Reconciler implements AutoCloseable {

    private enum State {
        NEW,
        RUNNING,
        CLOSED
    }

    private static final Logger LOG = SafeLogger.of(Reconciler.class);
    private static final Duration LAST_WORDS = Duration.ofSeconds(5); // of a finder that was interrupted

    private final RunBook book;
    private final Map<String, JobRunner> runners = new LinkedHashMap<>();
    private final boolean dryRun;
    private final Duration lookEvery;
    private final ThreadFactory threads;
    private final QuietLog trouble = new QuietLog(LOG);
    private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
    private final CountDownLatch closing = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean known; // whether the book has the jobs; adding them twice does no harm

    private Reconciler(Builder builder) {
        ConnectionProvider connections = required("connectionProvider", builder.connectionProvider);
        EventStore store = required("eventStore", builder.eventStore);
        if (builder.jobs.isEmpty()) {
            throw new IllegalArgumentException("At least one job is required");
        }
        StoreAccess access = new StoreAccess(connections, store);
        String node = new ClaimTokens(builder.ownerId).owner();
        this.book = store instanceof ReconcilingEventStore keeping
                ? new StoredRunBook(access, keeping, node, builder.keepRuns)
                : new MemoryRunBook(access, node, builder.keepRuns);
        this.dryRun = builder.dryRun;
        this.lookEvery = builder.lookEvery;
        this.threads = Threads.named(Threads.nextName(), "reconcile");
        MetricsExporter metrics = GuardedMetrics.of(builder.metrics);
        for (ReconcileJob job : builder.jobs.values()) {
            MissingEvents events = new MissingEvents(store, metrics);
            runners.put(job.name(), new JobRunner(job, access, book, events, metrics, threads, this::isOpen));
        }
    }

    private static <T> T required(String setting, @Nullable T value) {
        if (value == null) {
            throw new IllegalArgumentException(setting + " is required");
        }
        return value;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Runs each job when it is due or requested, on threads of its own; no effect if it runs already. */
    public void start() {
        if (!state.compareAndSet(State.NEW, State.RUNNING)) {
            if (state.get() == State.CLOSED) {
                throw new IllegalStateException(
                        "The reconciler is closed and cannot be started again; build a new one");
            }
            return;
        }
        threads.newThread(this::loop).start();
    }

    /**
     * Runs a job now, on the calling thread, whether it is due or not; a dry run if the reconciler only makes those.
     *
     * @return what came of it, a failure of the job included; empty if another run has the job, here or on another node
     * @throws IllegalArgumentException if there is no such job
     * @throws outbox.OutboxException if the run could not be written down
     */
    public Optional<ReconcileRun> run(String job) {
        return run(job, dryRun);
    }

    /** Like {@link #run}, but only counts what it would write. The checkpoint stays where it is. */
    public Optional<ReconcileRun> dryRun(String job) {
        return run(job, true);
    }

    private Optional<ReconcileRun> run(String job, boolean onlyLook) {
        JobRunner runner = runners.get(job);
        if (runner == null) {
            throw new IllegalArgumentException("There is no job " + job + "; known: " + runners.keySet());
        }
        if (!isOpen()) {
            throw new IllegalStateException("The reconciler is closed; build a new one");
        }
        makeKnown();
        return runner.run(onlyLook, true);
    }

    /**
     * The latest runs of all jobs, the newest first; with a shared book those of all nodes.
     *
     * @param limit 1 to 1000
     */
    public List<ReconcileRun> runs(int limit) {
        if (limit < 1 || limit > 1000) {
            throw new IllegalArgumentException("limit must be between 1 and 1000, not " + limit);
        }
        return book.runs(null, limit);
    }

    /** How the jobs stand; with a shared book also those that only other nodes have. */
    public List<ReconcileStatus> jobs() {
        makeKnown();
        return book.jobs();
    }

    /** Begins no more runs, and lets those under way end after their current batch, which is waited for; a finder that takes longer than 30 seconds is interrupted. Idempotent. */
    @Override
    public void close() {
        if (state.getAndSet(State.CLOSED) == State.NEW) {
            ended.countDown(); // it never ran
        }
        closing.countDown();
        long deadline = System.nanoTime() + StoreAccess.patience().toNanos();
        try {
            boolean drained = ended.await(StoreAccess.patience().toNanos(), TimeUnit.NANOSECONDS);
            for (JobRunner runner : runners.values()) {
                drained &= awaitEnd(runner, Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
            }
            if (!drained) {
                LOG.log(Level.WARNING, "A run of a reconcile job has not ended yet; it goes on in the background");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean awaitEnd(JobRunner runner, Duration limit) throws InterruptedException {
        if (runner.awaitEnd(limit)) {
            return true;
        }
        runner.interrupt();
        return runner.awaitEnd(LAST_WORDS);
    }

    private boolean isOpen() {
        return state.get() != State.CLOSED;
    }

    private void loop() {
        try {
            do {
                lookQuietly();
            } while (!closesWithin(pauseNanos()));
        } finally {
            ended.countDown();
        }
    }

    private void lookQuietly() {
        try {
            makeKnown();
            Set<String> due = book.due(jobsHere());
            for (JobRunner runner : runners.values()) {
                if (due.contains(runner.job().name()) && !runner.isBusy() && isOpen()) {
                    threads.newThread(() -> runQuietly(runner)).start();
                }
            }
        } catch (RuntimeException | Error e) {
            trouble.log(Level.WARNING, "Cannot find out which reconcile jobs are due; trying again", e);
        }
    }

    private void runQuietly(JobRunner runner) {
        try {
            runner.run(dryRun, false);
        } catch (RuntimeException | Error e) {
            trouble.log(
                    Level.WARNING,
                    "A run of reconcile job " + runner.job().name()
                            + " could not be written down; the next one will tell",
                    e);
        }
    }

    private void makeKnown() {
        if (!known) {
            book.add(jobsHere());
            known = true;
        }
    }

    private Collection<ReconcileJob> jobsHere() {
        return runners.values().stream().map(JobRunner::job).toList();
    }

    /** Spread by a tenth either way, so that nodes do not keep in step. */
    private long pauseNanos() {
        long nanos = lookEvery.toNanos();
        return nanos + ThreadLocalRandom.current().nextLong(-nanos / 10, nanos / 10 + 1);
    }

    private boolean closesWithin(long nanos) {
        try {
            return closing.await(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "Interrupt ignored: the reconciler ends by close", e);
            return !isOpen();
        }
    }

    /** Collects the settings of a reconciler; every setter refuses a wrong value. Not thread-safe. */
    public static final class Builder {

        private static final Duration SHORTEST_LOOK = Duration.ofMillis(50);
        private static final Duration LONGEST_LOOK = Duration.ofMinutes(10);

        private final Map<String, ReconcileJob> jobs = new LinkedHashMap<>();
        private @Nullable ConnectionProvider connectionProvider;
        private @Nullable EventStore eventStore;
        private MetricsExporter metrics = MetricsExporter.NOOP;
        private @Nullable String ownerId;
        private boolean dryRun;
        private Duration lookEvery = Duration.ofSeconds(5);
        private int keepRuns = 1000;

        private Builder() {}

        /** Required: to the store of the events. */
        public Builder connectionProvider(ConnectionProvider connectionProvider) {
            this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
            return this;
        }

        /** Required: where the events are written. It must be able to tell whether an event exists: a {@link outbox.spi.ControlledEventStore} or an {@link outbox.spi.AdminEventStore}. */
        public Builder eventStore(EventStore eventStore) {
            this.eventStore = MissingEvents.check(Objects.requireNonNull(eventStore, "eventStore"));
            return this;
        }

        /** Adds a job; at least one is required, each with a name of its own. */
        public Builder job(ReconcileJob job) {
            if (jobs.putIfAbsent(job.name(), job) != null) {
                throw new IllegalArgumentException("There are two jobs with the name " + job.name());
            }
            return this;
        }

        /** Is told what was fixed, and the events that were written; default: nobody. */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /** The name of this node in the history; default: host and process id. */
        public Builder ownerId(String ownerId) {
            this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
            return this;
        }

        /** Whether all runs only count what they would write, those that are requested included; default false. */
        public Builder dryRun(boolean dryRun) {
            this.dryRun = dryRun;
            return this;
        }

        /** How often it looks which jobs are due or requested, give or take a tenth; 50 ms to 10 minutes, default 5 seconds. */
        public Builder lookEvery(Duration lookEvery) {
            if (lookEvery.compareTo(SHORTEST_LOOK) < 0 || lookEvery.compareTo(LONGEST_LOOK) > 0) {
                throw new IllegalArgumentException(
                        "lookEvery must be between " + SHORTEST_LOOK + " and " + LONGEST_LOOK + ": " + lookEvery);
            }
            this.lookEvery = lookEvery;
            return this;
        }

        /** How many runs of each job the history has at most, 1 to 100,000; default 1000. */
        public Builder keepRuns(int keepRuns) {
            if (keepRuns < 1 || keepRuns > 100_000) {
                throw new IllegalArgumentException("keepRuns must be between 1 and 100000: " + keepRuns);
            }
            this.keepRuns = keepRuns;
            return this;
        }

        public Reconciler build() {
            return new Reconciler(this);
        }
    }
}
