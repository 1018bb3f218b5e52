package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.Ages;
import outbox.internal.EnvelopeAccess;
import outbox.internal.GuardedMetrics;
import outbox.internal.HandOver;
import outbox.internal.LeadershipStart;
import outbox.internal.RowRules;
import outbox.internal.text.SafeLogger;
import outbox.poller.EventSource.Batch;
import outbox.poller.EventSource.Found;
import outbox.spi.ErrorText;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;
import outbox.spi.PollerNeeds;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * One poll cycle: takes as many events as there is room for, decodes them and hands them to the handler. Events that
 * the handler refuses are released at once.
 *
 * <p>The batch after a full batch is as large as there is room for, unless the user set the batch size. A backlog is
 * therefore read with few statements, and an idle poller asks for few events.
 *
 * <p>Room is counted in events and in bytes. The size of events is only known after they were read. The first claim
 * therefore assumes the largest payload, and later claims use the sizes seen so far.
 *
 * <p>Threads: the poller's lock guards all fields that are not final.
 */
final class PollCycle {

    private static final Logger LOG = SafeLogger.of(PollCycle.class);

    private final EventSource source;
    private final OutboxPollerHandler handler;
    private final KnownNeeds needs;
    private final int batchSize;
    private final int backlogBatchSize;
    private final MetricsExporter metrics;
    // expected payload size of an event; guarded by the poller's lock
    private long expectedBytes = EventEnvelope.MAX_PAYLOAD_BYTES;
    private int largestClaim = Integer.MAX_VALUE; // lowered after a failed claim; guarded by the poller's lock
    private boolean backlog; // whether the last batch was full; guarded by the poller's lock
    private @Nullable Duration untilNext; // result of the last claim; guarded by the poller's lock
    private boolean leads; // whether this node was the leader in the last cycle; guarded by the poller's lock
    // whether the last claim that included suspects found any; guarded by the poller's lock
    private boolean suspectsAround;

    PollCycle(
            EventSource source,
            OutboxPollerHandler handler,
            KnownNeeds needs,
            int batchSize,
            int backlogBatchSize,
            MetricsExporter metrics) {
        this.source = source;
        this.handler = handler;
        this.needs = needs;
        this.batchSize = batchSize;
        this.backlogBatchSize = backlogBatchSize;
        this.metrics = GuardedMetrics.of(metrics);
    }

    /** The result of a cycle. It determines when the next cycle starts. */
    enum Result {
        /** The batch was full. The next cycle should follow at once. */
        FULL,
        /** There were events, but the batch was not full. */
        SOME,
        /** There were no events, or there was no room for them. */
        NOTHING,
        /** Another node is the leader. */
        STANDBY,
        /** The leader cannot be determined. */
        LEADERLESS
    }

    /** Returns the time from the last run until more events become due, or null if it is not known. */
    @Nullable
    Duration untilNext() {
        return untilNext;
    }

    Result run() {
        untilNext = null;
        Leadership leadership = needs.get().leadership();
        if (leadership != null && !lead(leadership)) {
            return leadership.isLed() ? Result.STANDBY : Result.LEADERLESS;
        }
        if (!handler.hasCapacity()) {
            return Result.NOTHING;
        }
        int wanted = backlog ? backlogBatchSize : batchSize;
        backlog = false;
        int left = wanted;
        for (boolean first = true; left > 0; first = false) {
            int suspectRoom = needs.get().suspectRoom();
            int limit = limit(suspectsAround && suspectRoom > 0 ? Math.min(left, suspectRoom) : left);
            if (limit == 0) {
                backlog = true; // probably more events are due; the next cycle with room continues
                break;
            }
            Batch batch = claim(limit, suspectRoom > 0);
            suspectsAround = suspectRoom > 0 ? batch.hasSuspects() : suspectsAround;
            boolean allTaken = handOver(batch, first);
            untilNext = batch.untilNext();
            left -= batch.events().size();
            boolean more = batch.events().size() == limit || batch.cut();
            if (!allTaken || !more || !source.takes()) {
                return left < wanted ? Result.SOME : Result.NOTHING;
            }
        }
        backlog = true;
        return left == 0 ? Result.FULL : Result.NOTHING;
    }

    private boolean lead(Leadership leadership) {
        boolean before = leads;
        leads = false; // in case lead() throws
        leads = leadership.lead();
        if (leads && !before) {
            source.leads(leadership instanceof LeadershipStart start ? start.startNanos() : System.nanoTime());
        }
        return leads;
    }

    private int limit(int left) {
        PollerNeeds known = needs.get();
        long byBytes = Math.max(1, known.byteRoom() / expectedBytes);
        int room = handler.hasCapacity() ? known.room() : 0;
        return (int) Math.min(Math.min(left, largestClaim), Math.min(room, byBytes));
    }

    /**
     * Claims events. A claim of many events may exceed the time limit of the database: InnoDB reads whole payloads
     * to find their sizes. After a failure, the next claim asks for half as many events. After a claim that got all
     * the events it asked for, the limit is doubled. A claim that got fewer does not raise the limit, because the
     * failed statement may still hold its rows.
     */
    private Batch claim(int limit, boolean suspects) {
        Batch batch;
        try {
            batch = source.next(limit, suspects);
        } catch (RuntimeException | Error e) {
            largestClaim = Math.max(1, limit / 2);
            throw e;
        }
        if (batch.events().size() >= largestClaim) {
            largestClaim = (int) Math.min(Integer.MAX_VALUE, 2L * largestClaim);
        }
        return batch;
    }

    private void bury(List<String> eventIds, String why) {
        if (!eventIds.isEmpty()) {
            LOG.log(Level.ERROR, eventIds.size() + " events " + why + " and are dead: " + eventIds);
            eventIds.forEach(eventId -> recordDead(null));
        }
    }

    private void recordDead(@Nullable String eventType) {
        metrics.incrementDispatchDead();
        metrics.recordDead(eventType);
    }

    /**
     * Waits until the events are due, so that none starts early. The wait is at most as long as the last reading of
     * the database's clock took.
     */
    private static void awaitDue(Duration left) {
        if (left.isNegative()) {
            return; // a duration in the distant past does not fit into nanoseconds
        }
        long end = System.nanoTime() + left.toNanos();
        boolean interrupted = false;
        for (long nanos = left.toNanos(); nanos > 0; nanos = end - System.nanoTime()) {
            LockSupport.parkNanos(nanos);
            interrupted |= Thread.interrupted(); // otherwise parkNanos would return at once
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns the age of the oldest event in milliseconds. Ignores events whose age is out of range. */
    private static long oldestLag(Batch batch) {
        return batch.events().stream()
                .map(found -> Ages.millis(found.row().createdAt(), batch.now()))
                .max(Long::compare)
                .orElse(0L);
    }

    /**
     * Returns whether the handler accepted all events. If anything fails between the claim and the handler, the
     * events that were not handed over are released.
     */
    private boolean handOver(Batch batch, boolean first) {
        List<Found> events = batch.events();
        long bytes = 0;
        int taken = 0;
        try {
            if (first) {
                metrics.recordOldestLagMs(oldestLag(batch));
            }
            bury(batch.expired(), "were not started by their deadline");
            bury(batch.untaken(), "found no node with a listener for them in time");
            bury(batch.unreachable(), "have a due time that is out of range");
            awaitDue(batch.untilDue());
            for (; taken < events.size(); taken++) {
                Found found = events.get(taken);
                HandOver handOver = handOverOf(found);
                EventEnvelope event = decoded(found, handOver);
                if (event != null) {
                    if (!handOver(found, event, handOver)) {
                        break;
                    }
                    bytes += event.payloadSize();
                }
            }
        } catch (RuntimeException | Error e) {
            release(events.subList(taken, events.size()), e);
            throw e;
        }
        if (taken < events.size()) {
            refuse(events.subList(taken, events.size()));
            return false;
        }
        if (!events.isEmpty()) {
            expectedBytes = Math.max(1, Math.max(bytes / events.size(), expectedBytes / 4));
        }
        return true;
    }

    /**
     * Releases events for which the handler has no room. A row with a fault needs no room and becomes dead now: the
     * fault may be an invalid lock, which the claim has overwritten, so the next claim would not see it.
     */
    private void refuse(List<Found> events) {
        List<Found> sound = events.stream()
                .filter(found -> found.row().fault() == null || decoded(found, handOverOf(found)) != null)
                .toList();
        if (!sound.isEmpty()) {
            source.release(sound);
        }
    }

    private void release(List<Found> events, Throwable cause) {
        try {
            if (!events.isEmpty()) {
                source.release(events);
            }
        } catch (RuntimeException e) {
            cause.addSuppressed(e); // the events stay claimed until their lease expires
        }
    }

    private HandOver handOverOf(Found found) {
        return new HandOver(found.claim(), found.suspect(), needs.lockTimeout(), needs::add);
    }

    /** Returns null if the event cannot be decoded. The event is dead then. */
    private @Nullable EventEnvelope decoded(Found found, HandOver handOver) {
        try {
            RowRules.check(found.row());
            EventEnvelope event = EnvelopeAccess.get().restore(found.row(), handOver);
            RowRules.checkHeaders(event.headers());
            return event;
        } catch (RuntimeException e) {
            bury(found, e);
            return null;
        }
    }

    /** Marks an event as dead. If that fails, a later cycle finds the row again; it must not block other events. */
    private void bury(Found found, RuntimeException why) {
        Leadership leadership = needs.get().leadership();
        if (leadership != null && !leadership.isLeader()) {
            return; // the next leader finds it
        }
        String eventId = found.row().eventId();
        LOG.log(Level.ERROR, "Event " + eventId + " cannot be decoded and is dead", why);
        try {
            if (source.markDead(found, "Cannot be decoded: " + ErrorText.of(why))) {
                String eventType = found.row().eventType();
                recordDead(eventType.isEmpty() ? null : eventType);
            }
        } catch (RuntimeException e) {
            LOG.log(Level.ERROR, "Event " + eventId + " cannot be marked as dead; a later cycle tries again", e);
        }
    }

    private boolean handOver(Found found, EventEnvelope event, HandOver handOver) {
        boolean taken = false;
        try {
            taken = handler.handle(event, found.row().attempts());
        } catch (RuntimeException | Error e) {
            LOG.log(Level.ERROR, "The handler failed to take event " + event.eventId() + "; it stays in the table", e);
        }
        if (taken) {
            handOver.count(metrics);
        } else {
            handOver.take(); // take the claim back, so that only this cycle can use it; the event is released later
        }
        return taken;
    }
}
