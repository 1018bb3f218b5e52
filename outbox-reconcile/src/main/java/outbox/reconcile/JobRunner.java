package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.StoreAccess;
import outbox.internal.Ulid;
import outbox.internal.text.SafeLogger;
import outbox.reconcile.ReconcileLog.Turn;
import outbox.reconcile.RunBook.Ending;
import outbox.spi.ErrorText;
import outbox.spi.MetricsExporter;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Runs one job, at most once at a time in this process. For each batch, it calls the finder outside any transaction,
 * and calls it a second time to confirm the missing events. It then writes the events and moves the checkpoint in
 * one transaction. It repeats this until there are no more facts.
 *
 * <pre>
 *  begin ──▶ find ──▶ [ still ours? write, checkpoint ] ──▶ find ──▶ [ … ] ──▶ end
 *    │                   one transaction
 *    └ after a crash at any point: the lease expires, and the next run continues at the last committed checkpoint
 * </pre>
 */
final class JobRunner {

    private static final Logger LOG = SafeLogger.of(JobRunner.class);

    private static final int MAX_TRIES = 5; // attempts to find the same facts twice

    private final ReconcileJob job;
    private final StoreAccess access;
    private final RunBook book;
    private final MissingEvents events; // not thread-safe; used while turn is held
    private final MetricsExporter metrics;
    private final BoundedFinder finder; // find is called while turn is held; interrupt by any thread
    private final BooleanSupplier isOpen;
    private final ReentrantLock turn = new ReentrantLock(); // held during a run

    JobRunner(
            ReconcileJob job,
            StoreAccess access,
            RunBook book,
            MissingEvents events,
            MetricsExporter metrics,
            ThreadFactory threads,
            BooleanSupplier isOpen) {
        this.job = job;
        this.access = access;
        this.book = book;
        this.events = events;
        this.metrics = metrics;
        this.finder = new BoundedFinder(job, threads);
        this.isOpen = isOpen;
    }

    ReconcileJob job() {
        return job;
    }

    boolean isBusy() {
        return turn.isLocked();
    }

    /** Waits for the current run to end. Returns false if the time limit passes first. */
    boolean awaitEnd(Duration limit) throws InterruptedException {
        if (!turn.tryLock(limit.toNanos(), TimeUnit.NANOSECONDS)) {
            return false;
        }
        turn.unlock();
        return true;
    }

    /** Interrupts the finder if it is running. */
    void interrupt() {
        finder.interrupt();
    }

    /**
     * Runs the job. Returns empty if the job is not due, or if another run holds it. A failure of the job or of a
     * batch is part of the result. This method throws only if the run cannot be recorded.
     */
    Optional<ReconcileRun> run(boolean dryRun, boolean anyTime) {
        if (!turn.tryLock()) {
            return Optional.empty();
        }
        try {
            if (!isOpen.getAsBoolean()) { // no run may begin after close has waited for turn
                return Optional.empty();
            }
            return book.begin(job, Ulid.next(), dryRun, anyTime).map(begun -> run(begun, anyTime));
        } finally {
            turn.unlock();
        }
    }

    private ReconcileRun run(Turn begun, boolean anyTime) {
        ReconcileRun run = begun.run();
        boolean swept = false;
        String error = null;
        try {
            String checkpoint = begun.checkpoint();
            boolean more = true;
            while (more && isOpen.getAsBoolean()) {
                FactSearch search = search(begun, checkpoint);
                Look look = run.dryRun() ? Look.once(finder.find(search)) : lookTwice(search);
                Found found = look.found();
                Optional<ReconcileRun> advanced = write(run, found, look.sure());
                if (advanced.isEmpty()) {
                    LOG.log(
                            Level.WARNING,
                            "Reconcile job {0} was taken over by another run; what this one found last was not written",
                            job.name());
                    return end(run, new Ending("The job was taken over by another run", false, true, true));
                }
                run = advanced.get();
                checkpoint = found.checkpoint();
                more = found.hasMore();
            }
            swept = !more;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            error = "The run was interrupted";
        } catch (Throwable e) { // user code or the database may throw anything
            error = ErrorText.of(e);
            metrics.recordReconcileFailure(job.name());
            LOG.log(Level.WARNING, "Reconcile job " + job.name() + " failed; it runs again when it is due", e);
        }
        boolean cutShort = error == null && !swept;
        // the scheduled run has not taken place yet
        boolean isExtra = run.dryRun() && (anyTime || run.requestId() != null);
        return end(run, new Ending(error, swept, cutShort, cutShort || isExtra));
    }

    private FactSearch search(Turn begun, @Nullable String checkpoint) {
        Instant now = begun.run().startedAt();
        Instant swept = begun.sweptAt();
        Instant base = swept == null || swept.isAfter(now) ? now : swept;
        return new FactSearch(
                job.name(), base.minus(job.window()), now.minus(job.minimumAge()), checkpoint, job.batchSize());
    }

    /**
     * Searches twice and returns the events that are certainly missing. An event may have been pending when its
     * fact was found, and may have been delivered and deleted since. Then neither the event nor the missing effect
     * exists any more. Facts whose events seem to be missing are therefore searched a second time, after the check
     * for their events. New facts may make the second search end before it has covered all of these events. It then
     * becomes the first search of another attempt, because otherwise the checkpoint would skip the facts that it
     * did not cover.
     */
    private Look lookTwice(FactSearch search) throws Exception {
        Found found = finder.find(search);
        for (int i = 0; i < MAX_TRIES; i++) {
            Set<String> missing = missing(found);
            if (missing.isEmpty()) {
                return new Look(found, List.of());
            }
            Found second = finder.find(search);
            if (Look.isComplete(found, missing, second)) {
                return new Look(
                        found,
                        second.events().stream()
                                .filter(event -> missing.contains(event.eventId()))
                                .toList());
            }
            found = second;
        }
        throw new IllegalStateException("Job " + job.name() + " found other facts behind checkpoint "
                + search.checkpoint() + " in each of " + (MAX_TRIES + 1)
                + " looks, so none was sure. Let its finder answer in a fixed order in which new facts come last.");
    }

    private Set<String> missing(Found found) {
        return found.events().isEmpty()
                ? Set.of()
                : access.inTransaction(
                        "look for events of reconcile job " + job.name(),
                        connection -> events.missing(connection, found.events()));
    }

    private Optional<ReconcileRun> write(ReconcileRun before, Found found, List<EventEnvelope> sure) {
        if (before.dryRun()) {
            return book.advance(job, before, found, connection -> events.count(connection, sure));
        }
        Optional<ReconcileRun> after = book.advance(job, before, found, connection -> events.write(connection, sure));
        if (after.isPresent()) {
            events.committed();
            int fixed = (int) (after.get().fixed() - before.fixed());
            if (fixed > 0) {
                metrics.recordReconciled(job.name(), fixed);
                LOG.log(Level.INFO, "Reconcile job {0} wrote {1} events that were missing", job.name(), fixed);
            }
        }
        return after;
    }

    /**
     * Records the end of the run. If that fails, the exception is thrown, the lease expires, and the next run
     * records that this one was lost.
     */
    private ReconcileRun end(ReconcileRun run, Ending how) {
        boolean interrupted = Thread.interrupted(); // some drivers fail on an interrupted thread
        try {
            return book.end(job, run, how);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
