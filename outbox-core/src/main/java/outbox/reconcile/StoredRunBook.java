package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.internal.StoreAccess;
import outbox.spi.AdminEventStore;
import outbox.spi.ReconcilingEventStore;
import outbox.spi.ReconcilingEventStore.Turn;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The book in the database of the events. A run has its job by a lease; each of its transactions first makes sure of that, and holds the job until its commit. */
final class StoredRunBook implements RunBook {

    private final StoreAccess access;
    private final ReconcilingEventStore store;
    private final String node;
    private final int keep;

    StoredRunBook(StoreAccess access, ReconcilingEventStore store, String node, int keep) {
        this.access = access;
        this.store = store;
        this.node = node;
        this.keep = keep;
    }

    /** The finder may take its time, twice per batch, and so may each of the transactions around its calls, before another node takes the job for lost. */
    private static Duration lease(ReconcileJob job) {
        return job.timeLimit().multipliedBy(2).plus(StoreAccess.patience().multipliedBy(3));
    }

    @Override
    public void add(Collection<ReconcileJob> jobs) {
        access.inTransaction("make reconcile jobs known", connection -> {
            jobs.forEach(job -> add(connection, job));
            return jobs.size();
        });
    }

    private void add(Connection connection, ReconcileJob job) {
        Instant first = job.schedule().first(access.now(connection));
        store.addJob(connection, job.name(), job.schedule().toString(), first);
    }

    @Override
    public Set<String> due(Collection<ReconcileJob> jobs) {
        return access.inTransaction("read which reconcile jobs are due", connection -> {
            Instant now = access.now(connection);
            Map<String, ReconcileStatus> known =
                    store.jobs(connection).stream().collect(Collectors.toMap(ReconcileStatus::job, status -> status));
            Set<String> due = new HashSet<>();
            for (ReconcileJob job : jobs) {
                ReconcileStatus status = known.get(job.name());
                if (status == null) {
                    add(connection, job);
                } else if (isDue(status, now) && isFree(status, expired(connection, job))) {
                    due.add(job.name());
                }
            }
            return due;
        });
    }

    private static boolean isDue(ReconcileStatus status, Instant now) {
        return status.requestId() != null || !status.nextAt().isAfter(now);
    }

    private static boolean isFree(ReconcileStatus status, Instant expired) {
        Instant leaseUntil = status.leaseUntil();
        return leaseUntil == null || leaseUntil.isBefore(expired);
    }

    /** Leases of the job that end before this have ended for sure. */
    private Instant expired(Connection connection, ReconcileJob job) {
        return access.expiry(connection, lease(job)).plus(lease(job));
    }

    /** Asks the database when it is: the history of a job is in the order of its runs, whichever node has them. */
    @Override
    public Optional<Turn> begin(ReconcileJob job, String runId, boolean dryRun, boolean anyTime) {
        return access.inTransaction("begin a run of reconcile job " + job.name(), connection -> {
            Instant now = access.ask(connection);
            ReconcileRun run = new ReconcileRun(runId, job.name(), node, now, null, 0, 0, null, null, dryRun, null);
            return store.beginRun(connection, run, expired(connection, job), now.plus(lease(job)), anyTime);
        });
    }

    @Override
    public Optional<ReconcileRun> advance(ReconcileJob job, ReconcileRun run, Found found, Batch batch) {
        return access.inTransaction("reconcile by job " + job.name(), connection -> {
            Instant leaseUntil = access.now(connection).plus(lease(job));
            if (!store.keepRun(connection, run, leaseUntil)) {
                return Optional.empty();
            }
            int fixed = batch.write(connection);
            ReconcileRun advanced = run.progressed(found.events().size(), fixed, found.checkpoint());
            store.advanceRun(connection, advanced);
            progressAudit(connection, run, fixed, null);
            return Optional.of(advanced);
        });
    }

    @Override
    public ReconcileRun end(ReconcileJob job, ReconcileRun run, Ending how) {
        return access.inTransaction("end a run of reconcile job " + job.name(), connection -> {
            Instant now = access.ask(connection);
            ReconcileRun ended = run.ended(now, how.error());
            store.keepRun(connection, run, now.plus(lease(job))); // until the commit nobody changes the schedule
            Instant nextAt = how.staysDue() ? null : schedule(connection, job).next(now);
            store.endRun(connection, ended, nextAt, how.swept() && !run.dryRun(), !how.cutShort(), keep);
            if (!how.cutShort()) {
                progressAudit(connection, ended, 0, now);
            }
            return ended;
        });
    }

    /** The one in the row, whoever runs the job: during a rolling deploy a node with the schedule of before would otherwise undo the new one. */
    private Schedule schedule(Connection connection, ReconcileJob job) {
        return store.jobs(connection).stream()
                .filter(status -> status.job().equals(job.name()))
                .findFirst()
                .flatMap(status -> Schedule.parse(status.schedule()))
                .orElse(job.schedule());
    }

    /** A confirmed request has an audit record, which is right wherever the process dies. */
    private void progressAudit(Connection connection, ReconcileRun run, int fixed, @Nullable Instant finishedAt) {
        String requestId = run.requestId();
        if (requestId != null
                && !run.dryRun()
                && store instanceof AdminEventStore admin
                && admin.audit(connection, requestId).isPresent()) {
            admin.progressAudit(connection, requestId, fixed, finishedAt);
        }
    }

    @Override
    public List<ReconcileRun> runs(@Nullable String job, int limit) {
        return access.inTransaction("read runs of reconcile jobs", connection -> store.runs(connection, job, limit));
    }

    @Override
    public List<ReconcileStatus> jobs() {
        return access.inTransaction("read reconcile jobs", store::jobs);
    }
}
