package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.Ages;
import outbox.internal.ClaimInHand;
import outbox.internal.ColdCount;
import outbox.internal.GuardedMetrics;
import outbox.internal.LeadershipStart;
import outbox.internal.RowRules;
import outbox.poller.EventSource.Batch;
import outbox.poller.EventSource.Found;
import outbox.spi.ErrorText;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * One look at the table: takes what there is room for, decodes it and hands it over. What the handler refuses is given back at once.
 *
 * <p>A batch that was full is followed by one for as much as there is room for, unless the user set the size: a backlog is taken with few statements, and an idle poller asks for little.
 *
 * <p>Room is counted in events and in bytes. How large events are is only known afterwards, so the first look assumes the largest payload and later ones go by what came.
 */
final class PollCycle {

    private static final Logger LOG = SafeLogger.of(PollCycle.class);

    private final EventSource source;
    private final OutboxPollerHandler handler;
    private final int batchSize;
    private final int backlogBatchSize;
    private final MetricsExporter metrics;
    private final ColdCount coldCount;
    private final @Nullable Leadership leadership; // of the handler; null if nodes share the table
    private long expectedBytes = EventEnvelope.MAX_PAYLOAD_BYTES; // per event; guarded by the poller's lock
    private boolean backlog; // whether the last batch was full; guarded by the poller's lock
    private @Nullable Duration untilNext; // of the last look; guarded by the poller's lock
    private boolean leads; // guarded by the poller's lock
    private boolean suspectsAround; // whether the last look that could find suspects did; guarded by the poller's lock

    PollCycle(
            EventSource source,
            OutboxPollerHandler handler,
            int batchSize,
            int backlogBatchSize,
            MetricsExporter metrics) {
        this.source = source;
        this.handler = handler;
        this.batchSize = batchSize;
        this.backlogBatchSize = backlogBatchSize;
        this.metrics = GuardedMetrics.of(metrics);
        this.coldCount = new ColdCount(this.metrics);
        this.leadership = handler.leadership();
    }

    /** What a cycle tells about the next one. */
    enum Result {
        /** The batch was full: the next cycle should follow at once. */
        FULL,
        /** There were events, but not many. */
        SOME,
        /** There was nothing, or no room for it. */
        NOTHING,
        /** Another node leads. */
        STANDBY,
        /** It cannot be found out who leads. */
        LEADERLESS
    }

    /** How long after the last run more becomes due, as far as the table tells. */
    @Nullable
    Duration untilNext() {
        return untilNext;
    }

    Result run() {
        untilNext = null;
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
            int suspectRoom = handler.suspectRoom();
            int limit = limit(suspectsAround && suspectRoom > 0 ? Math.min(left, suspectRoom) : left);
            if (limit == 0) {
                backlog = true; // most likely: it comes back when there is room
                break;
            }
            Batch batch = source.next(limit, suspectRoom > 0);
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
        leads = false; // if it throws
        leads = leadership.lead();
        if (leads && !before) {
            source.leads(leadership instanceof LeadershipStart start ? start.startNanos() : System.nanoTime());
        }
        return leads;
    }

    private int limit(int left) {
        long byBytes = Math.max(1, handler.byteRoom() / expectedBytes);
        return (int) Math.min(Math.min(left, handler.room()), byBytes);
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

    /** No event starts early; the wait is no longer than the database's clock was last in answering. */
    private static void awaitDue(Duration left) {
        if (left.isNegative()) {
            return; // it may be so long past that nanoseconds cannot count it
        }
        long end = System.nanoTime() + left.toNanos();
        boolean interrupted = false;
        for (long nanos = left.toNanos(); nanos > 0; nanos = end - System.nanoTime()) {
            LockSupport.parkNanos(nanos);
            interrupted |= Thread.interrupted(); // else it would not wait
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** In milliseconds, of the oldest event whose time can be counted. */
    private static long oldestLag(Batch batch) {
        return batch.events().stream()
                .map(found -> Ages.millis(found.row().createdAt(), batch.now()))
                .max(Long::compare)
                .orElse(0L);
    }

    /**
     * Returns whether the handler took everything. Whatever goes wrong between the claim and the hand-over, the events
     * that were not handed over are released.
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
                EventEnvelope event = decoded(found);
                if (event != null) {
                    if (!handOver(found, event)) {
                        break;
                    }
                    bytes += event.payloadSize();
                }
            }
        } catch (RuntimeException | Error e) {
            giveBack(events.subList(taken, events.size()), e);
            throw e;
        }
        if (taken < events.size()) {
            source.giveBack(events.subList(taken, events.size()));
            return false;
        }
        if (!events.isEmpty()) {
            expectedBytes = Math.max(1, Math.max(bytes / events.size(), expectedBytes / 4));
        }
        return true;
    }

    private void giveBack(List<Found> events, Throwable cause) {
        try {
            if (!events.isEmpty()) {
                source.giveBack(events);
            }
        } catch (RuntimeException e) {
            cause.addSuppressed(e); // their lease has to run out
        }
    }

    /** Null for an event that cannot be decoded; it is dead then. */
    private @Nullable EventEnvelope decoded(Found found) {
        try {
            RowRules.check(found.row());
            EventEnvelope event = EventEnvelope.restore(found.row());
            RowRules.checkHeaders(event.headers());
            return event;
        } catch (RuntimeException e) {
            bury(found, e);
            return null;
        }
    }

    /** A row that cannot be marked either is found again by a later cycle; it must not hold up the others. */
    private void bury(Found found, RuntimeException why) {
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

    private boolean handOver(Found found, EventEnvelope event) {
        ClaimInHand inHand = source.inHand(found);
        boolean taken = false;
        try {
            coldCount.begin();
            if (inHand != null) {
                inHand.offer();
            }
            taken = handler.handle(event, found.row().attempts());
        } catch (RuntimeException | Error e) {
            LOG.log(Level.ERROR, "The handler failed to take event " + event.eventId() + "; it stays in the table", e);
        } finally {
            if (inHand != null) {
                inHand.end(taken);
            }
            coldCount.end(taken);
        }
        return taken;
    }
}
