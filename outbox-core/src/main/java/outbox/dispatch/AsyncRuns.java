package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * The events that asynchronous listeners have in flight, limited per listener. If its listener is busy, a delivery
 * is suspended without holding a worker. It returns to the workers when a place is free.
 *
 * <p>Guarded by the lock of this object. Code that holds it may take the lock of the queues, but runs no user code.
 */
final class AsyncRuns {

    /**
     * The load of one listener. It is removed when it is empty, so that listeners created per event
     * do not accumulate.
     */
    private static final class Load {
        private int inFlight;
        private final Deque<Delivery> waiting = new ArrayDeque<>();
    }

    private final DeliveryQueues queues;
    private final IdentityHashMap<AsyncEventListener, Load> loads = new IdentityHashMap<>();
    // deliveries back in the queues that have a place
    private final Map<Delivery, AsyncEventListener> granted = new HashMap<>();

    AsyncRuns(DeliveryQueues queues) {
        this.queues = queues;
    }

    /** Takes a place for the delivery. Returns false if there is none; the delivery then waits for one. */
    synchronized boolean enter(AsyncEventListener listener, int bound, Delivery delivery) {
        Load load = loads.computeIfAbsent(listener, none -> new Load());
        if (load.inFlight < bound) {
            load.inFlight++;
            return true;
        }
        queues.suspendInTurn(delivery);
        load.waiting.add(delivery);
        return false;
    }

    /**
     * Returns the listener that has granted the delivery a place, or null. The caller must use the place
     * or {@link #leave} it.
     */
    synchronized @Nullable AsyncEventListener takeGranted(Delivery delivery) {
        return granted.remove(delivery);
    }

    /** Frees the place of a delivery that will not run, if it had one. */
    synchronized void cancel(Delivery delivery) {
        AsyncEventListener listener = granted.remove(delivery);
        if (listener != null) {
            leave(listener);
        }
    }

    /** Frees a place. The delivery that has waited longest gets it. */
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
        }
    }

    /** Whether nothing is in flight. */
    synchronized boolean isIdle() {
        return loads.isEmpty();
    }

    /** Removes and returns all deliveries that wait for a place. */
    synchronized List<Delivery> drain() {
        List<Delivery> drained = new ArrayList<>();
        loads.values().forEach(load -> {
            for (@Nullable Delivery next = load.waiting.poll(); next != null; next = load.waiting.poll()) {
                queues.unreserve(next);
                drained.add(next);
            }
        });
        return drained;
    }
}
