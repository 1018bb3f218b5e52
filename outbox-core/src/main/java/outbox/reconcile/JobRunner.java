package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.StoreAccess;
import outbox.internal.Ulid;
import outbox.reconcile.RunBook.Ending;
import outbox.spi.ErrorText;
import outbox.spi.MetricsExporter;
import outbox.spi.ReconcilingEventStore.Turn;
import outbox.spi.SafeLogger;

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
 * Runs one job, once at a time in this process: asks its finder for a batch outside any transaction, looks a second time at what is to be written, then writes it and
 * moves the checkpoint in one transaction, until there is no more.
 *
 * <pre>
 *  begin ──▶ find ──▶ [ still ours? write, checkpoint ] ──▶ find ──▶ [ … ] ──▶ end
 *    │                   one transaction
 *    └ crash anywhere: the lease runs out, and the next run goes on at the last checkpoint that was committed
 * </pre>
 */
final class JobRunner {

    private static final Logger LOG = SafeLogger.of(JobRunner.class);

    private static final int MAX_TRIES = 5; // to look twice at the same facts

    private final ReconcileJob job;
    private final StoreAccess access;
    private final RunBook book;
    private final MissingEvents events; // guarded by turn
    private final MetricsExporter metrics;
    private final BoundedFinder finder; // guarded by turn
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

    /** Waits for the run under way, but not longer than so; false if it has not ended then. */
    boolean awaitEnd(Duration limit) throws InterruptedException {
        if (!turn.tryLock(limit.toNanos(), TimeUnit.NANOSECONDS)) {
            return false;
        }
        turn.unlock();
        return true;
    }

    /** Interrupts the finder, if it runs. */
    void interrupt() {
        finder.interrupt();
    }

    /** Empty if the job is not due, or another run has it. What the job or a batch throws is in the answer; thrown is only what kept the run from being written down. */
    Optional<ReconcileRun> run(boolean dryRun, boolean anyTime) {
        if (!turn.tryLock()) {
            return Optional.empty();
        }
        try {
            if (!isOpen.getAsBoolean()) { // whoever closes has waited for the turn, or waits for it now
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
        } catch (Throwable e) { // of user code, or of the database
            error = ErrorText.of(e);
            metrics.recordReconcileFailure(job.name());
            LOG.log(Level.WARNING, "Reconcile job " + job.name() + " failed; it runs again when it is due", e);
        }
        boolean cutShort = error == null && !swept;
        boolean isExtra = run.dryRun() && (anyTime || run.requestId() != null); // the run that is due is still to come
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
     * An event may have been pending when its fact was found, and delivered and deleted since: then neither it nor its lack of effect is there any more. So what seems to be missing is looked for once
     * more after that was found out. If the second look ended before it had passed all of that, because of facts that have become visible before it, it is the first look of another try: otherwise
     * the checkpoint would pass over what it left out.
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

    /** What cannot be written down is told; the lease runs out, and the next run says that this one was lost. */
    private ReconcileRun end(ReconcileRun run, Ending how) {
        boolean interrupted = Thread.interrupted(); // some drivers fail on a thread that is interrupted
        try {
            return book.end(job, run, how);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
