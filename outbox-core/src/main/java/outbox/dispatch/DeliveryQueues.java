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
 *
 * <p>Suspects have places of their own, so that slow ones take none from other events, and start as {@link SuspectLine} says.
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

    private static final int MAX_SUSPECTS = 100; // a small share, so that other nodes help
    private static final int TURNS = 4; // two for the hot queue, one for the cold queue, one for suspects

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition someReady = lock.newCondition();
    private final Lane hot;
    private final Lane cold;
    private final Lane suspects; // for their room; the line has those that are ready
    private final SuspectLine line;
    private final boolean inOrder; // events of the cold queue start in the order of their claim, suspects among them
    private final ArrayDeque<Delivery> resumed = new ArrayDeque<>();
    private final long maxBytes;
    private long bytes; // of all that were let in and are not gone; guarded by the lock, as everything below
    private long suspectBytes; // of them, those of suspects
    private int atWork; // taken by workers and not gone
    private int turn = TURNS - 1;
    private int wakeUps; // takers that shall return with nothing
    private boolean coldRoomWanted;
    private boolean suspectRoomWanted;
    private volatile Runnable onColdRoom = () -> {};

    DeliveryQueues(int hotCapacity, int coldCapacity, long maxBytes) {
        this(hotCapacity, coldCapacity, maxBytes, false);
    }

    /**
     * Makes queues.
     *
     * @param inOrder whether cold events, suspects among them, start as they came; there is one worker then
     */
    DeliveryQueues(int hotCapacity, int coldCapacity, long maxBytes, boolean inOrder) {
        this.hot = new Lane(hotCapacity);
        this.cold = new Lane(coldCapacity);
        this.suspects = inOrder ? cold : new Lane(Math.min(coldCapacity, MAX_SUSPECTS));
        this.line = new SuspectLine(inOrder);
        this.inOrder = inOrder;
        this.maxBytes = maxBytes;
    }

    /** Lets a delivery into its queue. Never waits; false when the queue or the room for payloads is full. A single payload is always let in when nothing else waits. */
    boolean offer(Delivery delivery) {
        lock.lock();
        try {
            if (!hold(delivery)) {
                return false;
            }
            addReady(delivery);
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
        boolean suspect = hasOwnRoom(delivery);
        if (lane.held >= lane.capacity
                || bytes > 0 && bytes + size > maxBytes
                || suspect && suspectBytes > 0 && suspectBytes + size > maxBytes / 4) {
            return false;
        }
        lane.held++;
        bytes += size;
        suspectBytes += suspect ? size : 0;
        delivery.countBytes(suspect ? Delivery.Bytes.OF_SUSPECT : Delivery.Bytes.COUNTED);
        return true;
    }

    private void addReady(Delivery delivery) {
        if (delivery.isSuspect()) {
            line.add(delivery, cold.ready.nextArrival());
        } else {
            laneOf(delivery).ready.add(delivery);
        }
        someReady.signal();
    }

    /** Puts a delivery that has its room into its queue. */
    void ready(Delivery delivery) {
        lock.lock();
        try {
            addReady(delivery);
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

    /**
     * A worker has taken a delivery that cannot run yet: it takes its place again, even beyond the bound, which it exceeds by one per worker at most. A suspect loses its turn.
     */
    void setAside(Delivery delivery) {
        lock.lock();
        try {
            setAsideInTurn(delivery);
            endTurn(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** The same, but a suspect keeps its turn: it waits for other events to end, and not for a destination. */
    void setAsideInTurn(Delivery delivery) {
        lock.lock();
        try {
            laneOf(delivery).held++;
            endWork(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** The delivery, let in or not, is finished with: its payload takes no more memory. */
    void gone(Delivery delivery) {
        lock.lock();
        try {
            Delivery.Bytes counted = delivery.countBytes(Delivery.Bytes.NOT_COUNTED);
            if (counted != Delivery.Bytes.NOT_COUNTED) {
                int size = delivery.envelope().payloadSize();
                bytes -= size;
                suspectBytes -= counted == Delivery.Bytes.OF_SUSPECT ? size : 0;
                wakeIfColdRoom();
            }
            endWork(delivery);
            endTurn(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** The listener of the delivery has ended, but its outcome cannot be written yet: nobody need wait for it. */
    void endRun(Delivery delivery) {
        lock.lock();
        try {
            endWork(delivery);
            endTurn(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** Whether the delivery is a suspect, and those have room of their own. */
    boolean hasOwnRoom(Delivery delivery) {
        return delivery.isSuspect() && !inOrder;
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

    /** Whether the delivery is the suspect that may run. */
    boolean hasTurn(Delivery delivery) {
        lock.lock();
        try {
            return line.hasTurn(delivery);
        } finally {
            lock.unlock();
        }
    }

    /** Hands a delivery that was set aside to the next taker; a suspect when it has its turn. */
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

    /** Waits for a delivery; null after {@link #wakeAll}. */
    @Nullable
    Delivery take() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            Delivery next = nextInTurn(true);
            while (next == null && wakeUps == 0) {
                if (line.waitsForQuiet()) {
                    someReady.awaitNanos(Math.max(1, line.nanosToQuietLimit()));
                } else {
                    someReady.await();
                }
                next = nextInTurn(true);
            }
            if (next == null) {
                wakeUps--;
            }
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** The next delivery that may run together with others, or null if none is ready. */
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
            next = line.poll(atWork, !hot.ready.isEmpty() || !cold.ready.isEmpty());
        }
        boolean coldFirst = now == 2;
        if (next == null && !line.isShut()) {
            next = coldFirst ? nextCold(withSuspects) : hot.ready.poll();
        }
        if (next == null && !line.isShut()) {
            next = coldFirst ? hot.ready.poll() : nextCold(withSuspects);
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
        if (inOrder && line.isBefore(cold.ready.oldestArrival())) {
            return withSuspects ? line.poll(atWork, false) : null;
        }
        return cold.ready.poll();
    }

    private void leave(Delivery delivery) {
        laneOf(delivery).held--;
        wakeIfColdRoom();
    }

    private void wakeIfColdRoom() {
        boolean wake = coldRoomWanted && hasMuchColdRoom();
        boolean wakeForSuspects = suspectRoomWanted && hasMuchSuspectRoom();
        coldRoomWanted &= !wake;
        suspectRoomWanted &= !wakeForSuspects;
        if (wake || wakeForSuspects) {
            onColdRoom.run();
        }
    }

    /** Half of it, so that whoever fills the queue does not come for each single event. */
    private boolean hasMuchColdRoom() {
        return cold.held <= cold.capacity / 2 && bytes <= maxBytes / 2;
    }

    private boolean hasMuchSuspectRoom() {
        return suspects.held <= suspects.capacity / 2 && suspectBytes <= maxBytes / 8;
    }

    /** Called when the cold queue, or the room of suspects, has room again, after somebody asked for it and was answered none. Must not wait. */
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

    /** How many more suspects can be taken, or 0 if their room is more than half full. */
    int muchSuspectRoom() {
        lock.lock();
        try {
            if (inOrder) {
                return Integer.MAX_VALUE; // they take the room of the cold queue
            }
            suspectRoomWanted = !hasMuchSuspectRoom();
            return suspectRoomWanted ? 0 : suspects.capacity - suspects.held;
        } finally {
            lock.unlock();
        }
    }

    /** Takes out everything that is ready. */
    List<Delivery> drain() {
        lock.lock();
        try {
            List<Delivery> drained = new ArrayList<>(resumed);
            resumed.clear();
            line.drainTo(drained);
            for (Lane lane : List.of(hot, cold)) {
                for (Delivery next = lane.ready.poll(); next != null; next = lane.ready.poll()) {
                    drained.add(next);
                }
            }
            drained.forEach(this::leave);
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
            return hot.held == 0 && cold.held == 0 && suspects.held == 0;
        } finally {
            lock.unlock();
        }
    }

    /** How many events wait, ready or not. */
    int depth(Source source) {
        lock.lock();
        try {
            return laneOf(source).held + (source == Source.COLD && !inOrder ? suspects.held : 0);
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
        return delivery.isSuspect() ? suspects : laneOf(delivery.source());
    }

    private Lane laneOf(Source source) {
        return source == Source.HOT ? hot : cold;
    }
}
