package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The hot and the cold queue, bounded in number and together in bytes. A taker waits for both at once and looks twice into the hot queue for each look into the cold one; when
 * the one it looks into is empty, it takes from the other.
 */
final class DeliveryQueues {

    private final ArrayBlockingQueue<Delivery> hot;
    private final ArrayBlockingQueue<Delivery> cold;
    private final Semaphore waiting = new Semaphore(0); // one permit per queued delivery, and one per wake-up
    private int turn; // guarded by this
    private final AtomicLong bytes = new AtomicLong();
    private final long maxBytes;

    DeliveryQueues(int hotCapacity, int coldCapacity, long maxBytes) {
        this.hot = new ArrayBlockingQueue<>(hotCapacity);
        this.cold = new ArrayBlockingQueue<>(coldCapacity);
        this.maxBytes = maxBytes;
    }

    /** Never blocks; false when the queue or the room for payloads is full. A single payload is always let in when nothing else waits. */
    boolean offer(Delivery delivery) {
        int size = delivery.envelope().payloadSize();
        long before = bytes.getAndAdd(size);
        if (before > 0 && before + size > maxBytes
                || !queueOf(delivery.source()).offer(delivery)) {
            bytes.addAndGet(-size);
            return false;
        }
        waiting.release();
        return true;
    }

    /** Waits for a delivery; null after {@link #wakeAll}. */
    @Nullable
    Delivery take() throws InterruptedException {
        waiting.acquire();
        Delivery next = takeInTurn();
        if (next != null) {
            bytes.addAndGet(-next.envelope().payloadSize());
        }
        return next;
    }

    /**
     * One taker at a time looks into both queues. Otherwise it could find each of them empty in turn while another takes what its permit was for and a third event arrives: the
     * permit would be lost, and that event would wait for ever.
     */
    private synchronized @Nullable Delivery takeInTurn() {
        boolean hotFirst = turn < 2;
        turn = (turn + 1) % 3;
        Delivery next = hotFirst ? hot.poll() : cold.poll();
        return next != null ? next : hotFirst ? cold.poll() : hot.poll();
    }

    /** Takes out everything that waits. */
    List<Delivery> drain() {
        List<Delivery> drained = new ArrayList<>();
        hot.drainTo(drained);
        cold.drainTo(drained);
        drained.forEach(delivery -> bytes.addAndGet(-delivery.envelope().payloadSize()));
        return drained;
    }

    void wakeAll(int takers) {
        waiting.release(takers);
    }

    boolean isEmpty() {
        return hot.isEmpty() && cold.isEmpty();
    }

    int hotDepth() {
        return hot.size();
    }

    int coldDepth() {
        return cold.size();
    }

    /** How many more events the queue can take. */
    int room(QueuedEvent.Source source) {
        return bytes.get() >= maxBytes ? 0 : queueOf(source).remainingCapacity();
    }

    long byteRoom() {
        return Math.max(0, maxBytes - bytes.get());
    }

    private ArrayBlockingQueue<Delivery> queueOf(QueuedEvent.Source source) {
        return source == QueuedEvent.Source.HOT ? hot : cold;
    }
}
