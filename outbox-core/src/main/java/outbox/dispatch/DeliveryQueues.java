package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.QueuedEvent.Source;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The hot and the cold queue, bounded in number and together in bytes. A taker waits for both at once and looks twice into the hot queue for each look into the cold one; when
 * the one it looks into is empty, it takes from the other. In each queue larger priorities come first, see {@link ReadyDeliveries}. Deliveries that a worker had taken and set aside come first.
 *
 * <p>Places are counted from the moment a delivery is let in until a worker takes it, whether it stands in its queue or waits elsewhere for its turn: {@link #reserve}, later
 * {@link #ready} or {@link #free}. Bytes are counted until its outcome is written, {@link #gone}: as long as it is in memory.
 */
final class DeliveryQueues {

    /** One of the two queues. Guarded by the lock. */
    private static final class Lane {
        private final ReadyDeliveries ready = new ReadyDeliveries();
        private final int capacity;
        private int held; // let in and not taken, ready or not

        Lane(int capacity) {
            this.capacity = capacity;
        }
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition someReady = lock.newCondition();
    private final Lane hot;
    private final Lane cold;
    private final ArrayDeque<Delivery> resumed = new ArrayDeque<>();
    private final long maxBytes;
    private long bytes; // of all that were let in and are not gone; guarded by the lock, as everything below
    private int turn;
    private int wakeUps; // takers that shall return with nothing
    private boolean coldRoomWanted;
    private volatile Runnable onColdRoom = () -> {};

    DeliveryQueues(int hotCapacity, int coldCapacity, long maxBytes) {
        this.hot = new Lane(hotCapacity);
        this.cold = new Lane(coldCapacity);
        this.maxBytes = maxBytes;
    }

    /** Lets a delivery into its queue. Never waits; false when the queue or the room for payloads is full. A single payload is always let in when nothing else waits. */
    boolean offer(Delivery delivery) {
        lock.lock();
        try {
            if (!hold(delivery)) {
                return false;
            }
            laneOf(delivery).ready.add(delivery);
            someReady.signal();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Takes room for a delivery that is not ready yet, on the terms of {@link #offer}. */
    boolean reserve(Delivery delivery) {
        lock.lock();
        try {
            return hold(delivery);
        } finally {
            lock.unlock();
        }
    }

    private boolean hold(Delivery delivery) {
        int size = delivery.envelope().payloadSize();
        Lane lane = laneOf(delivery);
        if (lane.held >= lane.capacity || bytes > 0 && bytes + size > maxBytes) {
            return false;
        }
        lane.held++;
        bytes += size;
        delivery.countBytes(true);
        return true;
    }

    /** Puts a delivery that has its room into its queue. */
    void ready(Delivery delivery) {
        lock.lock();
        try {
            laneOf(delivery).ready.add(delivery);
            someReady.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Gives up the room of a delivery that will not become ready. */
    void free(Delivery delivery) {
        lock.lock();
        try {
            leave(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** A worker has taken a delivery that cannot run yet: it takes its place again, even beyond the bound, which it exceeds by one per worker at most. */
    void setAside(Delivery delivery) {
        lock.lock();
        try {
            laneOf(delivery).held++;
        } finally {
            lock.unlock();
        }
    }

    /** The delivery, let in or not, is finished with: its payload takes no more memory. */
    void gone(Delivery delivery) {
        lock.lock();
        try {
            if (delivery.countBytes(false)) {
                bytes -= delivery.envelope().payloadSize();
                wakeIfColdRoom();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Hands a delivery that was set aside to the next taker. */
    void resume(Delivery delivery) {
        lock.lock();
        try {
            resumed.add(delivery);
            someReady.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Waits for a delivery; null after {@link #wakeAll}. */
    @Nullable
    Delivery take() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            Delivery next = nextInTurn();
            while (next == null && wakeUps == 0) {
                someReady.await();
                next = nextInTurn();
            }
            if (next == null) {
                wakeUps--;
            }
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** The next delivery, or null if none is ready. */
    @Nullable
    Delivery takeNow() {
        lock.lock();
        try {
            return nextInTurn();
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Delivery nextInTurn() {
        Delivery next = resumed.poll();
        if (next == null) {
            boolean hotFirst = turn < 2;
            next = (hotFirst ? hot : cold).ready.poll();
            if (next == null) {
                next = (hotFirst ? cold : hot).ready.poll();
            }
            if (next == null) {
                return null;
            }
            turn = (turn + 1) % 3;
        }
        leave(next);
        return next;
    }

    private void leave(Delivery delivery) {
        laneOf(delivery).held--;
        wakeIfColdRoom();
    }

    private void wakeIfColdRoom() {
        if (coldRoomWanted && hasMuchColdRoom()) {
            coldRoomWanted = false;
            onColdRoom.run();
        }
    }

    /** Half of it, so that whoever fills the queue does not come for each single event. */
    private boolean hasMuchColdRoom() {
        return cold.held <= cold.capacity / 2 && bytes <= maxBytes / 2;
    }

    /** Called when the cold queue has room again, after somebody asked for it and was answered none. Must not wait. */
    void onColdRoom(Runnable wake) {
        onColdRoom = wake;
    }

    /** How many more events the cold queue can take, or 0 if it is more than half full. */
    int muchColdRoom() {
        lock.lock();
        try {
            coldRoomWanted = !hasMuchColdRoom();
            return coldRoomWanted ? 0 : cold.capacity - cold.held;
        } finally {
            lock.unlock();
        }
    }

    /** Takes out everything that is ready. */
    List<Delivery> drain() {
        lock.lock();
        try {
            List<Delivery> drained = new ArrayList<>();
            for (Delivery next = nextInTurn(); next != null; next = nextInTurn()) {
                drained.add(next);
            }
            return drained;
        } finally {
            lock.unlock();
        }
    }

    /** Lets as many takers return with nothing, now or when they come. */
    void wakeAll(int takers) {
        lock.lock();
        try {
            wakeUps += takers;
            someReady.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Whether nothing waits, ready or not. */
    boolean isEmpty() {
        lock.lock();
        try {
            return hot.held == 0 && cold.held == 0;
        } finally {
            lock.unlock();
        }
    }

    /** How many events wait, ready or not. */
    int depth(Source source) {
        lock.lock();
        try {
            return laneOf(source).held;
        } finally {
            lock.unlock();
        }
    }

    /** How many more events the queue can take. */
    int room(Source source) {
        lock.lock();
        try {
            Lane lane = laneOf(source);
            int room = bytes >= maxBytes ? 0 : Math.max(0, lane.capacity - lane.held);
            coldRoomWanted |= room == 0 && source == Source.COLD;
            return room;
        } finally {
            lock.unlock();
        }
    }

    /** Whether the hot queue can take so many more events with so many bytes of payload, on the terms of {@link #offer}. */
    boolean hasHotRoom(int events, long size) {
        lock.lock();
        try {
            boolean bytesFit = bytes + size <= maxBytes || bytes == 0 && events == 1;
            return events <= hot.capacity - hot.held && bytesFit;
        } finally {
            lock.unlock();
        }
    }

    long byteRoom() {
        lock.lock();
        try {
            return Math.max(0, maxBytes - bytes);
        } finally {
            lock.unlock();
        }
    }

    private Lane laneOf(Delivery delivery) {
        return laneOf(delivery.source());
    }

    private Lane laneOf(Source source) {
        return source == Source.HOT ? hot : cold;
    }
}
