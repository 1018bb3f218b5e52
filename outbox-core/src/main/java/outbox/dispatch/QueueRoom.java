package outbox.dispatch;

import outbox.dispatch.QueuedEvent.Source;

/**
 * The room of the queues, in events and bytes. A delivery takes a place from its acceptance until a worker takes it.
 * Its bytes are counted until its outcome is written, because the payload stays in memory that long. Suspects have
 * separate places, so that slow suspects take none from other events. Guarded by the lock of the queues.
 */
final class QueueRoom {

    /** The places of one queue. */
    private static final class Lane {
        private final int capacity;
        private int held; // deliveries that were accepted and not taken, ready or not

        Lane(int capacity) {
            this.capacity = capacity;
        }

        int free() {
            return capacity - held;
        }

        /**
         * Whether half of the places are free. The limit is half, so that a poller does not run for
         * each single event.
         */
        boolean hasMuch() {
            return held <= capacity / 2;
        }
    }

    private static final int MAX_SUSPECTS = 100; // a small share, so that other nodes help

    private final Lane hot;
    private final Lane cold;
    private final Lane suspects;
    private final boolean inOrder; // if true, suspects use the places of the cold queue
    private final long maxBytes;
    private long bytes; // of all accepted deliveries that are not removed
    private long suspectBytes; // the part of them that belongs to suspects
    private boolean coldWanted; // a poller found no room in the cold queue
    private boolean suspectWanted; // a poller found no room for suspects

    QueueRoom(int hotCapacity, int coldCapacity, long maxBytes, boolean inOrder) {
        this.hot = new Lane(hotCapacity);
        this.cold = new Lane(coldCapacity);
        this.suspects = inOrder ? cold : new Lane(Math.min(coldCapacity, MAX_SUSPECTS));
        this.inOrder = inOrder;
        this.maxBytes = maxBytes;
    }

    /**
     * Takes a place and the bytes of the delivery. Returns false if there is no room. A single payload always fits
     * if no other payload is held.
     */
    boolean take(Delivery delivery) {
        int size = delivery.envelope().payloadSize();
        Lane lane = laneOf(delivery);
        boolean suspect = hasOwnRoom(delivery);
        if (lane.free() <= 0
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

    /** Takes a place, even if the queue is full, for a delivery whose bytes are already counted. */
    void takePlace(Delivery delivery) {
        laneOf(delivery).held++;
    }

    void freePlace(Delivery delivery) {
        laneOf(delivery).held--;
    }

    /** Frees the bytes of the delivery. Returns false if they were not counted. */
    boolean freeBytes(Delivery delivery) {
        Delivery.Bytes counted = delivery.countBytes(Delivery.Bytes.NOT_COUNTED);
        if (counted == Delivery.Bytes.NOT_COUNTED) {
            return false;
        }
        int size = delivery.envelope().payloadSize();
        bytes -= size;
        suspectBytes -= counted == Delivery.Bytes.OF_SUSPECT ? size : 0;
        return true;
    }

    /** Whether enough room is free again after a poller found none. Returns true once. */
    boolean isWanted() {
        boolean wake = coldWanted && hasMuchCold();
        boolean wakeForSuspects = suspectWanted && hasMuchForSuspects();
        coldWanted &= !wake;
        suspectWanted &= !wakeForSuspects;
        return wake || wakeForSuspects;
    }

    private boolean hasMuchCold() {
        return cold.hasMuch() && bytes <= maxBytes / 2;
    }

    private boolean hasMuchForSuspects() {
        return suspects.hasMuch() && suspectBytes <= maxBytes / 8;
    }

    /** Returns the free places of the cold queue, or 0 if it is more than half full. */
    int muchCold() {
        coldWanted = !hasMuchCold();
        return coldWanted ? 0 : cold.free();
    }

    /** Returns the free places for suspects, or 0 if more than half of them are taken. */
    int muchForSuspects() {
        if (inOrder) {
            return Integer.MAX_VALUE; // suspects use the room of the cold queue
        }
        suspectWanted = !hasMuchForSuspects();
        return suspectWanted ? 0 : suspects.free();
    }

    int free(Source source) {
        int free = bytes >= maxBytes ? 0 : Math.max(0, laneOf(source).free());
        coldWanted |= free == 0 && source == Source.COLD;
        return free;
    }

    boolean hasHot(int events, long size) {
        boolean bytesFit = bytes + size <= maxBytes || bytes == 0 && events == 1;
        return events <= hot.free() && bytesFit;
    }

    long freeBytes() {
        return Math.max(0, maxBytes - bytes);
    }

    boolean isUnused() {
        return hot.held == 0 && cold.held == 0 && suspects.held == 0;
    }

    int held(Source source) {
        return laneOf(source).held + (source == Source.COLD && !inOrder ? suspects.held : 0);
    }

    /** Whether the delivery is a suspect and suspects have separate room. */
    boolean hasOwnRoom(Delivery delivery) {
        return delivery.isSuspect() && !inOrder;
    }

    private Lane laneOf(Delivery delivery) {
        return delivery.isSuspect() ? suspects : laneOf(delivery.source());
    }

    private Lane laneOf(Source source) {
        return source == Source.HOT ? hot : cold;
    }
}
