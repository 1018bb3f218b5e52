package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.internal.StoreAccess;
import outbox.reconcile.ReconcileLog.Turn;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A run book in the memory of this process, for stores that cannot keep one. It is lost when the process ends, like
 * the events of a store in memory. After a restart, each job searches its whole window again. Other processes are
 * not prevented from running the same jobs.
 */
final class MemoryRunBook implements RunBook {

    /** The state of a job. The lock of the book guards all fields. */
    private static final class Entry {
        private final ReconcileJob job;
        private final Deque<ReconcileRun> runs = new ArrayDeque<>(); // newest first; guarded by the book
        private Instant nextAt;
        private @Nullable String checkpoint;
        private @Nullable Instant sweepAt;
        private @Nullable Instant sweptAt;
        private @Nullable String runId;

        Entry(ReconcileJob job, Instant nextAt) {
            this.job = job;
            this.nextAt = nextAt;
        }
    }

    private final StoreAccess access;
    private final String node;
    private final int keep;
    private final Map<String, Entry> entries = new TreeMap<>(); // guarded by this

    MemoryRunBook(StoreAccess access, String node, int keep) {
        this.access = access;
        this.node = node;
        this.keep = keep;
    }

    private Instant now() {
        return access.inTransaction("read the clock", access::now);
    }

    @Override
    public void add(Collection<ReconcileJob> jobs) {
        Instant now = now();
        synchronized (this) {
            for (ReconcileJob job : jobs) {
                entries.computeIfAbsent(
                        job.name(), name -> new Entry(job, job.schedule().first(now)));
            }
        }
    }

    @Override
    public Set<String> due(Collection<ReconcileJob> jobs) {
        Instant now = now();
        synchronized (this) {
            return entries.values().stream()
                    .filter(entry -> entry.runId == null && !entry.nextAt.isAfter(now))
                    .map(entry -> entry.job.name())
                    .collect(Collectors.toSet());
        }
    }

    @Override
    public Optional<Turn> begin(ReconcileJob job, String runId, boolean dryRun, boolean anyTime) {
        Instant now = now();
        synchronized (this) {
            Entry entry = entry(job.name());
            if (entry.runId != null || !anyTime && entry.nextAt.isAfter(now)) {
                return Optional.empty();
            }
            Instant sweepAt = entry.checkpoint == null || entry.sweepAt == null ? now : entry.sweepAt;
            if (!dryRun) {
                entry.sweepAt = sweepAt;
            }
            entry.runId = runId;
            ReconcileRun run =
                    new ReconcileRun(runId, job.name(), node, now, null, 0, 0, entry.checkpoint, null, dryRun, null);
            entry.runs.addFirst(run);
            while (entry.runs.size() > keep) {
                entry.runs.removeLast();
            }
            return Optional.of(new Turn(run, entry.checkpoint, sweepAt, entry.sweptAt));
        }
    }

    /**
     * Moves the checkpoint after the commit. If the commit fails, or the process ends before the checkpoint moves,
     * the next run finds the same facts again, and recognizes their events by id.
     */
    @Override
    public Optional<ReconcileRun> advance(ReconcileJob job, ReconcileRun run, Found found, Batch batch) {
        int fixed = access.inTransaction("reconcile by job " + job.name(), batch::write);
        ReconcileRun advanced = run.progressed(found.events().size(), fixed, found.checkpoint());
        synchronized (this) {
            Entry entry = entry(job.name());
            if (!run.dryRun()) {
                entry.checkpoint = found.checkpoint();
            }
            replace(entry, advanced);
        }
        return Optional.of(advanced);
    }

    @Override
    public ReconcileRun end(ReconcileJob job, ReconcileRun run, Ending how) {
        Instant now;
        try {
            now = now();
            // there is no lease that could expire, so release the job here; it stays due
        } catch (RuntimeException | Error e) {
            synchronized (this) {
                entry(job.name()).runId = null;
            }
            throw e;
        }
        ReconcileRun ended = run.ended(now, how.error());
        synchronized (this) {
            Entry entry = entry(job.name());
            entry.runId = null;
            if (!how.staysDue()) {
                entry.nextAt = job.schedule().next(now);
            }
            if (how.swept() && !run.dryRun()) {
                entry.sweptAt = entry.sweepAt;
                entry.sweepAt = null;
            }
            replace(entry, ended);
        }
        return ended;
    }

    private Entry entry(String job) {
        return Objects.requireNonNull(entries.get(job), job);
    }

    /** Replaces the first run of the list. A job has one run at a time, and the newest is first. */
    private static void replace(Entry entry, ReconcileRun run) {
        entry.runs.removeFirst();
        entry.runs.addFirst(run);
    }

    @Override
    public synchronized List<ReconcileRun> runs(@Nullable String job, int limit) {
        Stream<Entry> some = entries.values().stream()
                .filter(entry -> job == null || entry.job.name().equals(job));
        return some.flatMap(entry -> entry.runs.stream())
                .sorted(Comparator.comparing(ReconcileRun::startedAt).reversed())
                .limit(limit)
                .toList();
    }

    @Override
    public synchronized List<ReconcileStatus> jobs() {
        return entries.values().stream()
                .map(entry -> new ReconcileStatus(
                        entry.job.name(),
                        entry.job.schedule().toString(),
                        entry.nextAt,
                        entry.checkpoint,
                        entry.sweptAt,
                        entry.runId,
                        null,
                        null))
                .toList();
    }
}
