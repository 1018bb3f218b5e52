package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Messages that were published on one channel and not yet confirmed, by delivery tag. Each channel has its own
 * tracker: delivery tags restart with each channel, and a confirm for an old channel must not settle a message of a
 * new one.
 *
 * <p>A {@code basic.return} contains no delivery tag, so a channel never carries two messages with the same id at the
 * same time. The return arrives before the ack of its message. Thread-safe. No callback runs under the lock.
 */
final class ConfirmTracker {

    /**
     * A message that is no longer pending on the channel.
     *
     * @param returned why the broker returned the message; empty if it did not
     */
    record Settled(Publish publish, String returned) {}

    private final TreeMap<Long, Publish> pending = new TreeMap<>(); // guarded by this, like all fields below
    private final Map<String, String> returnedById = new HashMap<>(); // of pending messages; empty if not returned
    private boolean closed;

    /**
     * Adds a message; call this before the message can reach the broker. Returns false if the channel is closed or
     * already has a message with this id.
     */
    synchronized boolean add(long tag, Publish publish) {
        if (closed || returnedById.putIfAbsent(publish.eventId(), "") != null) {
            return false;
        }
        pending.put(tag, publish);
        return true;
    }

    synchronized boolean holds(String eventId) {
        return returnedById.containsKey(eventId);
    }

    synchronized void returned(String eventId, String why) {
        returnedById.computeIfPresent(eventId, (id, none) -> why);
    }

    /**
     * Removes and returns the messages that an ack or nack refers to. Ignores tags that are not pending, such as
     * repeated ones.
     */
    synchronized List<Settled> settle(long tag, boolean multiple) {
        List<Settled> settled = new ArrayList<>();
        if (multiple) {
            while (!pending.isEmpty() && pending.firstKey() <= tag) {
                settled.add(settled(pending.pollFirstEntry().getValue()));
            }
        } else {
            Publish publish = pending.remove(tag);
            if (publish != null) {
                settled.add(settled(publish));
            }
        }
        if (pending.isEmpty()) {
            notifyAll();
        }
        return settled;
    }

    private Settled settled(Publish publish) {
        String returned = returnedById.remove(publish.eventId());
        return new Settled(publish, returned == null ? "" : returned);
    }

    /**
     * Removes and returns all messages in publishing order, and accepts no more. Returns an empty list if it was
     * closed before.
     */
    synchronized List<Settled> close() {
        closed = true;
        return settle(Long.MAX_VALUE, true);
    }

    /** Returns the message that was published first, or null if none is pending. */
    synchronized @Nullable Publish oldest() {
        return pending.isEmpty() ? null : pending.firstEntry().getValue();
    }

    /** Waits until nothing is pending. Returns false if the time limit passes first. */
    synchronized boolean awaitEmpty(long nanos) throws InterruptedException {
        long end = System.nanoTime() + nanos;
        while (!pending.isEmpty()) {
            long left = end - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return true;
    }
}
