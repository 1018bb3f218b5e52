package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The events that asynchronous listeners have in flight, each listener within its bound. A delivery that finds its listener busy is set aside without holding a worker, and goes
 * back to the workers when a place is free.
 *
 * <p>Guarded by this object's lock, under which the queues' lock may be taken, but no user code runs.
 */
final class AsyncRuns {

    /** What one listener has to do. It is forgotten when that is nothing, so listeners made for each event do not pile up. */
    private static final class Load {
        private int inFlight;
        private final Deque<Delivery> waiting = new ArrayDeque<>();
    }

    private final DeliveryQueues queues;
    private final IdentityHashMap<AsyncEventListener, Load> loads = new IdentityHashMap<>();
    private final Map<Delivery, AsyncEventListener> granted = new HashMap<>(); // back in the queues, with a place

    AsyncRuns(DeliveryQueues queues) {
        this.queues = queues;
    }

    /** Takes a place for the delivery; false if there is none, and then it waits for one. */
    synchronized boolean enter(AsyncEventListener listener, int bound, Delivery delivery) {
        Load load = loads.computeIfAbsent(listener, none -> new Load());
        if (load.inFlight < bound) {
            load.inFlight++;
            return true;
        }
        queues.setAsideInTurn(delivery);
        load.waiting.add(delivery);
        return false;
    }

    /** The listener at which the delivery has waited for its place, if it has one now; whoever asks must use it or {@link #leave}. A registry may know another listener by now. */
    synchronized @Nullable AsyncEventListener takeGranted(Delivery delivery) {
        return granted.remove(delivery);
    }

    /** The delivery will not be run: its place is free, if it had one. */
    synchronized void giveUpPlace(Delivery delivery) {
        AsyncEventListener listener = granted.remove(delivery);
        if (listener != null) {
            leave(listener);
        }
    }

    /** Gives up a place; the delivery that has waited longest gets it. */
    synchronized void leave(AsyncEventListener listener) {
        Load load = loads.get(listener);
        if (load == null) {
            return;
        }
        Delivery next = load.waiting.poll();
        if (next != null) {
            granted.put(next, listener);
            queues.resume(next);
        } else if (--load.inFlight == 0) {
            loads.remove(listener);
            notifyAll();
        }
    }

    /** Whether nothing is in flight any more, now or within the given time. */
    synchronized boolean awaitNone(Duration patience) throws InterruptedException {
        long end = System.nanoTime() + patience.toNanos();
        while (!loads.isEmpty()) {
            long left = end - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return true;
    }

    /** Takes out everything that waits for a place. */
    synchronized List<Delivery> drain() {
        List<Delivery> drained = new ArrayList<>();
        loads.values().forEach(load -> {
            for (@Nullable Delivery next = load.waiting.poll(); next != null; next = load.waiting.poll()) {
                queues.free(next);
                drained.add(next);
            }
        });
        return drained;
    }
}
