package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration;
import outbox.internal.StoreAccess;
import outbox.reconcile.ReconcileLog.Turn;

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

/**
 * A run book in the database of the events. A run holds its job by a lease. Each of its transactions first checks
 * the lease, and then locks the job until the commit.
 */
final class StoredRunBook implements RunBook {

    private final StoreAccess access;
    private final ReconcileLog store;
    private final @Nullable EventAdministration audits; // of the same store; null if it has none
    private final String node;
    private final int keep;

    StoredRunBook(StoreAccess access, ReconcileLog store, @Nullable EventAdministration audits, String node, int keep) {
        this.access = access;
        this.store = store;
        this.audits = audits;
        this.node = node;
        this.keep = keep;
    }

    /**
     * Returns the duration of a lease. It covers two calls of the finder per batch and the transactions around them,
     * each up to its time limit.
     */
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

    /** Returns a limit: a lease of the job that ends before this time has certainly expired. */
    private Instant expired(Connection connection, ReconcileJob job) {
        return access.expiry(connection, lease(job)).plus(lease(job));
    }

    /**
     * Reads the clock of the database for each run, so that the history is in the order of the runs, on any node.
     */
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
            // locks the job, so that its schedule cannot change before the commit
            store.keepRun(connection, run, now.plus(lease(job)));
            Instant nextAt = how.staysDue() ? null : schedule(connection, job).next(now);
            store.endRun(connection, ended, nextAt, how.swept() && !run.dryRun(), !how.cutShort(), keep);
            if (!how.cutShort()) {
                progressAudit(connection, ended, 0, now);
            }
            return ended;
        });
    }

    /**
     * Returns the schedule that is stored in the row of the job. During a rolling deployment, a node with the old
     * schedule would otherwise overwrite the new one.
     */
    private Schedule schedule(Connection connection, ReconcileJob job) {
        return store.jobs(connection).stream()
                .filter(status -> status.job().equals(job.name()))
                .findFirst()
                .flatMap(status -> Schedule.parse(status.schedule()))
                .orElse(job.schedule());
    }

    /**
     * Updates the audit record of a confirmed request in the same transaction, so that the record is correct even if
     * the process crashes.
     */
    private void progressAudit(Connection connection, ReconcileRun run, int fixed, @Nullable Instant finishedAt) {
        String requestId = run.requestId();
        if (requestId != null
                && !run.dryRun()
                && audits != null
                && audits.audit(connection, requestId).isPresent()) {
            audits.progressAudit(connection, requestId, fixed, finishedAt);
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
