package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.Scheduler;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The hot and the cold queue. Each is limited in number of events, and both together in bytes. A worker that takes a
 * delivery waits for both queues. It looks into the hot queue twice for each look into the cold queue. If that queue
 * is empty, it takes from the other one. Within a queue, larger priorities come first, see {@link ReadyDeliveries}.
 * Deliveries that a worker had taken and suspended come before both queues.
 *
 * <p>A delivery enters by {@link #offer}, or by {@link #reserve} and later {@link #ready} or {@link #unreserve}.
 * {@link QueueRoom} counts its room until {@link #remove}. {@link SuspectLine} decides when suspects start.
 */
final class DeliveryQueues {

    private static final int TURNS = 4; // two for the hot queue, one for the cold queue, one for suspects

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition someReady;
    private final ReadyDeliveries hot = new ReadyDeliveries(); // guarded by lock
    private final ReadyDeliveries cold = new ReadyDeliveries(); // guarded by lock
    private final QueueRoom room; // guarded by lock
    private final SuspectLine line; // guarded by lock
    private final boolean inOrder; // cold events, including suspects, start in the order of their claim
    private final ArrayDeque<Delivery> resumed = new ArrayDeque<>(); // guarded by lock
    private int atWork; // deliveries that workers have taken and not removed; guarded by lock
    private int turn = TURNS - 1; // guarded by lock
    private int wakeUps; // number of take calls that must return null; guarded by lock
    private volatile Runnable onColdRoom = () -> {}; // set once, while the dispatcher is built

    DeliveryQueues(int hotCapacity, int coldCapacity, long maxBytes) {
        this(hotCapacity, coldCapacity, maxBytes, false, Scheduler.system());
    }

    /**
     * Creates the queues.
     *
     * @param inOrder whether cold events, including suspects, start in their order of arrival; then there
     *     is one worker
     */
    DeliveryQueues(int hotCapacity, int coldCapacity, long maxBytes, boolean inOrder, Scheduler scheduler) {
        this.someReady = scheduler.newCondition(lock);
        this.room = new QueueRoom(hotCapacity, coldCapacity, maxBytes, inOrder);
        this.line = new SuspectLine(inOrder, scheduler);
        this.inOrder = inOrder;
    }

    /**
     * Adds a delivery to its queue. Never blocks. Returns false if the queue or the room for payloads is full. A
     * single payload is always accepted if no other payload is held.
     */
    boolean offer(Delivery delivery) {
        lock.lock();
        try {
            if (!room.take(delivery)) {
                return false;
            }
            addReady(delivery);
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Takes room for a delivery that is not ready yet, under the conditions of {@link #offer}. */
    boolean reserve(Delivery delivery) {
        lock.lock();
        try {
            return room.take(delivery);
        } finally {
            lock.unlock();
        }
    }

    private void addReady(Delivery delivery) {
        if (delivery.isSuspect()) {
            line.add(delivery, cold.nextArrival());
        } else {
            (delivery.source() == Source.HOT ? hot : cold).add(delivery);
        }
        someReady.signal();
    }

    /** Adds a delivery that has reserved its room to its queue. */
    void ready(Delivery delivery) {
        lock.lock();
        try {
            addReady(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** Frees the room of a delivery that will not become ready. */
    void unreserve(Delivery delivery) {
        lock.lock();
        try {
            leave(delivery);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Suspends a delivery that a worker has taken and that cannot run yet. The delivery takes a place again, even if
     * the queue is full. The limit is exceeded by at most one delivery per worker. A suspect loses its turn.
     */
    void suspend(Delivery delivery) {
        lock.lock();
        try {
            suspendInTurn(delivery);
            endTurn(delivery);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Like {@link #suspend}, but a suspect keeps its turn, because it waits for other events to end and not
     * for a destination.
     */
    void suspendInTurn(Delivery delivery) {
        lock.lock();
        try {
            room.takePlace(delivery);
            endWork(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** Frees everything that a finished delivery takes here, including the bytes of its payload. */
    void remove(Delivery delivery) {
        lock.lock();
        try {
            if (room.freeBytes(delivery)) {
                wakeIfColdRoom();
            }
            endWork(delivery);
            endTurn(delivery);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends the work of a delivery whose listener has ended but whose outcome cannot be written yet. Other events
     * need not wait for it.
     */
    void endRun(Delivery delivery) {
        lock.lock();
        try {
            endWork(delivery);
            endTurn(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** Whether the delivery is a suspect and suspects have separate room. */
    boolean hasOwnRoom(Delivery delivery) {
        return room.hasOwnRoom(delivery);
    }

    private void endWork(Delivery delivery) {
        if (delivery.setAtWork(false)) {
            atWork--;
            if (line.isShut() && atWork == 0) {
                someReady.signalAll();
            }
        }
    }

    private void endTurn(Delivery delivery) {
        if (line.endTurn(delivery)) {
            someReady.signalAll();
        }
    }

    /** Whether the delivery is the suspect that has its turn. */
    boolean hasTurn(Delivery delivery) {
        lock.lock();
        try {
            return line.hasTurn(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** Passes a suspended delivery to the next worker. A suspect waits for its turn. */
    void resume(Delivery delivery) {
        lock.lock();
        try {
            if (delivery.isSuspect()) {
                line.resume(delivery);
            } else {
                resumed.add(delivery);
            }
            someReady.signal();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the next delivery. If none is ready, waits once for a change. Returns null if none is ready after that,
     * or after {@link #wakeAll}.
     */
    @Nullable
    @SuppressWarnings("WaitNotInLoop") // the caller asks again
    Delivery take() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            Delivery next = nextInTurn(true);
            if (next == null && wakeUps == 0) {
                if (line.waitsForQuiet()) {
                    someReady.awaitNanos(Math.max(1, line.nanosToQuietLimit()));
                } else {
                    someReady.await();
                }
                next = nextInTurn(true);
            }
            if (next == null && wakeUps > 0) {
                wakeUps--;
            }
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the next delivery that may run together with others, or null if none is ready. */
    @Nullable
    Delivery takeNow() {
        lock.lock();
        try {
            return nextInTurn(false);
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Delivery nextInTurn(boolean withSuspects) {
        Delivery next;
        if (line.isShut()) {
            next = withSuspects ? line.poll(atWork, true) : null;
        } else {
            next = resumed.poll();
            if (next == null) {
                next = ofQueues(withSuspects);
            }
        }
        if (next != null) {
            leave(next);
            next.setAtWork(true);
            atWork++;
        }
        return next;
    }

    private @Nullable Delivery ofQueues(boolean withSuspects) {
        int now = turn;
        Delivery next = null;
        if (now == TURNS - 1 && withSuspects && !inOrder) {
            next = line.poll(atWork, !hot.isEmpty() || !cold.isEmpty());
        }
        boolean coldFirst = now == 2;
        if (next == null && !line.isShut()) {
            next = coldFirst ? nextCold(withSuspects) : hot.poll();
        }
        if (next == null && !line.isShut()) {
            next = coldFirst ? hot.poll() : nextCold(withSuspects);
        }
        if (next == null && withSuspects) {
            next = line.poll(atWork, false);
        }
        if (next != null) {
            turn = (now + 1) % (line.isEmpty() || inOrder ? TURNS - 1 : TURNS);
        }
        return next;
    }

    private @Nullable Delivery nextCold(boolean withSuspects) {
        if (inOrder && line.isBefore(cold.oldestArrival())) {
            return withSuspects ? line.poll(atWork, false) : null;
        }
        return cold.poll();
    }

    private void leave(Delivery delivery) {
        room.freePlace(delivery);
        wakeIfColdRoom();
    }

    private void wakeIfColdRoom() {
        if (room.isWanted()) {
            onColdRoom.run();
        }
    }

    /**
     * Sets the callback that runs when the cold queue or the room of suspects has room again after a poller found
     * none. The callback must not block.
     */
    void onColdRoom(Runnable wake) {
        onColdRoom = wake;
    }

    /** Returns how many more events the cold queue can take, or 0 if it is more than half full. */
    int muchColdRoom() {
        lock.lock();
        try {
            return room.muchCold();
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many more suspects can be taken, or 0 if their room is more than half full. */
    int muchSuspectRoom() {
        lock.lock();
        try {
            return room.muchForSuspects();
        } finally {
            lock.unlock();
        }
    }

    /** Removes and returns all ready deliveries. */
    List<Delivery> drain() {
        lock.lock();
        try {
            List<Delivery> drained = new ArrayList<>(resumed);
            resumed.clear();
            line.drainTo(drained);
            for (ReadyDeliveries queue : List.of(hot, cold)) {
                for (Delivery next = queue.poll(); next != null; next = queue.poll()) {
                    drained.add(next);
                }
            }
            drained.forEach(this::leave);
            return drained;
        } finally {
            lock.unlock();
        }
    }

    /** Makes at least this number of {@link #take} calls return null, now or when they are made. */
    void wakeAll(int takers) {
        lock.lock();
        try {
            wakeUps = Math.max(wakeUps, takers);
            someReady.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Whether no event waits, ready or not. */
    boolean isEmpty() {
        lock.lock();
        try {
            return room.isUnused();
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many events wait, ready or not. */
    int depth(Source source) {
        lock.lock();
        try {
            return room.held(source);
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many more events the queue can take. */
    int room(Source source) {
        lock.lock();
        try {
            return room.free(source);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Whether the hot queue can take this many more events and payload bytes, under the
     * conditions of {@link #offer}.
     */
    boolean hasHotRoom(int events, long size) {
        lock.lock();
        try {
            return room.hasHot(events, size);
        } finally {
            lock.unlock();
        }
    }

    long byteRoom() {
        lock.lock();
        try {
            return room.freeBytes();
        } finally {
            lock.unlock();
        }
    }
}
