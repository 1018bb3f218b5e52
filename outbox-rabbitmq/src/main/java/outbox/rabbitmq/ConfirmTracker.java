package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * What one channel has published and the broker has not settled, by delivery tag. Each channel has one of its own: tags start again with the next channel, and what is said about an
 * old one must not touch the new.
 *
 * <p>A return names no tag, so no two messages with the same id are on a channel at a time. It comes before the ack of its message. Thread-safe; no foreign code runs under the lock.
 */
final class ConfirmTracker {

    /**
     * A message that is not on the channel any more.
     *
     * @param returned the broker's reason for returning it; empty if it did not
     */
    record Settled(Publish publish, String returned) {}

    private final TreeMap<Long, Publish> pending = new TreeMap<>(); // guarded by this, as everything below
    private final Map<String, String> returnedById = new HashMap<>(); // of those pending; empty if not returned
    private boolean closed;

    /** Must be called before the message can reach the broker. False if the channel has been closed, or has a message of this id. */
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

    /** Takes out what an ack or a nack is about; a tag that is not pending, as in a repetition, is about nothing. */
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

    /** The channel is gone: takes out everything, in the order of publishing, and lets nothing in any more. Empty if it was closed before. */
    synchronized List<Settled> close() {
        closed = true;
        return settle(Long.MAX_VALUE, true);
    }

    /** What has waited longest; null if nothing is pending. */
    synchronized @Nullable Publish oldest() {
        return pending.isEmpty() ? null : pending.firstEntry().getValue();
    }

    /** Whether nothing is pending any more, now or within the given time. */
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
