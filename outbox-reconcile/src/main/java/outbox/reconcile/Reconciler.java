package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration;
import outbox.internal.ClaimTokens;
import outbox.internal.GuardedMetrics;
import outbox.internal.Loop;
import outbox.internal.StoreAccess;
import outbox.internal.Threads;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;

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
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The safety net of an outbox: runs jobs that search business tables for facts whose event or effect is missing, and
 * writes the events. They are delivered like all other events.
 *
 * <p>With a {@link ReconcileLog}, as the JDBC stores have one, any number of nodes may have the same jobs. Each
 * job runs on one node at a time. Its checkpoint moves in the transaction that writes the events. A node that has
 * lost a job to another node writes nothing more. With any other store, such as one in memory, the state of the jobs
 * exists only in this process.
 *
 * <p>A job that throws or hangs affects neither other jobs nor its own next run. Thread-safe. {@link #run} may be
 * called directly, with or without {@link #start()}.
 */
public final class Reconciler implements AutoCloseable {

    private static final Logger LOG = SafeLogger.of(Reconciler.class);
    // how long close waits for an interrupted finder
    private static final Duration LAST_WORDS = Duration.ofSeconds(5);

    private final RunBook book;
    private final Map<String, JobRunner> runners = new LinkedHashMap<>();
    private final boolean dryRun;
    private final Duration lookEvery;
    private final ThreadFactory threads;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private final Loop loop;
    // whether the book has the jobs; any thread writes and reads; adding the jobs twice is harmless
    private volatile boolean known;

    private Reconciler(Builder builder) {
        ConnectionProvider connections = required("connectionProvider", builder.connectionProvider);
        EventStore store = required("eventStore", builder.eventStore);
        if (builder.jobs.isEmpty()) {
            throw new IllegalArgumentException("At least one job is required");
        }
        StoreAccess access = new StoreAccess(connections, store);
        String node = new ClaimTokens(builder.ownerId).owner();
        ReconcileLog log = store.capability(ReconcileLog.class).orElse(null);
        EventAdministration administration =
                store.capability(EventAdministration.class).orElse(null);
        this.book = log != null
                ? new StoredRunBook(access, log, administration, node, builder.keepRuns)
                : new MemoryRunBook(access, node, builder.keepRuns);
        this.dryRun = builder.dryRun;
        this.lookEvery = builder.lookEvery;
        this.threads = Threads.named(Threads.nextName(), "reconcile");
        this.loop = new Loop("reconciler", threads, Loop.Step.every(this::pauseNanos, this::look));
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

    /**
     * Runs each job when it is due or requested, on separate threads. Has no effect if the reconciler is
     * already running.
     */
    public void start() {
        loop.start();
    }

    /**
     * Runs a job now, on the calling thread, even if it is not due. The run is a dry run if the reconciler is
     * set to dry runs.
     *
     * @return the result, which may be a failure of the job; empty if another run holds the job, here or
     *     on another node
     * @throws IllegalArgumentException if there is no such job
     * @throws outbox.OutboxException if the run could not be recorded
     */
    public Optional<ReconcileRun> run(String job) {
        return run(job, dryRun);
    }

    /** Like {@link #run}, but only counts the events that it would write. The checkpoint does not move. */
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
     * Returns the latest runs of all jobs, the newest first. With a {@link ReconcileLog}, includes the runs
     * of all nodes.
     *
     * @param limit 1 to 1000
     */
    public List<ReconcileRun> runs(int limit) {
        if (limit < 1 || limit > 1000) {
            throw new IllegalArgumentException("limit must be between 1 and 1000, not " + limit);
        }
        return book.runs(null, limit);
    }

    /**
     * Returns the state of the jobs. With a {@link ReconcileLog}, includes jobs that only other nodes have.
     */
    public List<ReconcileStatus> jobs() {
        makeKnown();
        return book.jobs();
    }

    /**
     * Starts no more runs, and waits for current runs to end after their current batch. A finder that takes longer
     * than 30 seconds is interrupted. Idempotent.
     */
    @Override
    public void close() {
        loop.closeNow();
        long deadline = System.nanoTime() + StoreAccess.patience().toNanos();
        try {
            boolean drained = loop.awaitEnd(StoreAccess.patience());
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
        return !loop.isClosed();
    }

    private void look() {
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

    /** Varies the interval by up to 10 % in both directions, so that nodes do not check at the same time. */
    private long pauseNanos() {
        long nanos = lookEvery.toNanos();
        return nanos + ThreadLocalRandom.current().nextLong(-nanos / 10, nanos / 10 + 1);
    }

    /** Collects the settings of a reconciler. Every setter rejects invalid values. Not thread-safe. */
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

        /** Required: connections to the database of the event store. */
        public Builder connectionProvider(ConnectionProvider connectionProvider) {
            this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
            return this;
        }

        /**
         * Required: the store for the events. It must be able to check whether an event exists: by
         * {@link outbox.spi.EventControl} or {@link EventAdministration}.
         */
        public Builder eventStore(EventStore eventStore) {
            this.eventStore = MissingEvents.check(Objects.requireNonNull(eventStore, "eventStore"));
            return this;
        }

        /** Adds a job. At least one job is required, and each needs a unique name. */
        public Builder job(ReconcileJob job) {
            if (jobs.putIfAbsent(job.name(), job) != null) {
                throw new IllegalArgumentException("There are two jobs with the name " + job.name());
            }
            return this;
        }

        /**
         * Receives the counts of fixed facts, of failures and of written events; default
         * {@link MetricsExporter#NOOP}.
         */
        public Builder metrics(MetricsExporter metrics) {
            this.metrics = Objects.requireNonNull(metrics, "metrics");
            return this;
        }

        /** The name of this node in the history; default: host and process id. */
        public Builder ownerId(String ownerId) {
            this.ownerId = Objects.requireNonNull(ownerId, "ownerId");
            return this;
        }

        /**
         * Whether all runs, including requested ones, only count the events that they would write; default false.
         */
        public Builder dryRun(boolean dryRun) {
            this.dryRun = dryRun;
            return this;
        }

        /**
         * How often the reconciler checks which jobs are due or requested, plus or minus 10 %; 50 ms to 10 minutes,
         * default 5 seconds.
         */
        public Builder lookEvery(Duration lookEvery) {
            if (lookEvery.compareTo(SHORTEST_LOOK) < 0 || lookEvery.compareTo(LONGEST_LOOK) > 0) {
                throw new IllegalArgumentException(
                        "lookEvery must be between " + SHORTEST_LOOK + " and " + LONGEST_LOOK + ": " + lookEvery);
            }
            this.lookEvery = lookEvery;
            return this;
        }

        /** Maximum number of runs of each job in the history, 1 to 100,000; default 1000. */
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
