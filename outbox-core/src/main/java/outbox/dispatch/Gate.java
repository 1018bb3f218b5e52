package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * One breaker or one limit, with the deliveries that wait for it. When its waiting room is almost full, it is shut: claims pass over such events until half of the room is free, and
 * what comes all the same and finds no room is given back. Guarded by the lock of its {@link Admission}.
 */
final class Gate {

    /** How many deliveries wait in memory for one gate; the rest waits in the table. */
    static final int ROOM = 64;

    private static final int MAX_ROUTES = 1000;

    /** What a claim can tell apart: the events of a gate go by their type, tenant, or by the routes that were seen. */
    enum Kind {
        TYPE,
        LISTENER,
        TENANT,
        BREAKER
    }

    /** A delivery that waits, with the name of its listener if that was needed. */
    record Waiter(Delivery delivery, @Nullable String listener) {}

    final Kind kind;
    final String name;
    final @Nullable CircuitBreaker breaker;
    final Deque<Waiter> waiting = new ArrayDeque<>();
    final Set<String> routes = new HashSet<>(); // that were seen
    private final int concurrency;
    private final @Nullable TokenBucket bucket;
    private int inside;
    private int coming; // in the queues, on their way here
    private boolean shut; // its room was almost full, and is not half empty yet
    private boolean reported; // as shut, to whoever wants to know when it no longer is

    private Gate(
            Kind kind, String name, @Nullable CircuitBreaker breaker, int concurrency, @Nullable TokenBucket bucket) {
        this.kind = kind;
        this.name = name;
        this.breaker = breaker;
        this.concurrency = concurrency;
        this.bucket = bucket;
    }

    static Gate of(CircuitBreaker breaker) {
        return new Gate(Kind.BREAKER, breaker.name(), breaker, Integer.MAX_VALUE, null);
    }

    static Gate of(Kind kind, String name, Limit limit, long now) {
        Limit.Rate rate = limit.rate();
        return new Gate(kind, name, null, limit.concurrency(), rate == null ? null : new TokenBucket(rate, now));
    }

    void saw(EventEnvelope event) {
        if ((kind == Kind.BREAKER || kind == Kind.LISTENER) && routes.size() < MAX_ROUTES) {
            routes.add(ListenerNames.route(event));
        }
    }

    /** Of a limit: whether one more may start. */
    boolean hasPlace(long now) {
        return inside < concurrency && (bucket == null || bucket.hasToken(now));
    }

    void take() {
        inside++;
        if (bucket != null) {
            bucket.take();
        }
    }

    void leave() {
        inside--;
    }

    int inside() {
        return inside;
    }

    void comes() {
        coming++;
    }

    void came() {
        coming--;
    }

    /** Whether who comes now would have to wait. */
    boolean isBusy(long now) {
        return !waiting.isEmpty()
                || !hasPlace(now)
                || breaker != null && breaker.state() != CircuitBreaker.State.CLOSED;
    }

    /** How many more can be on their way here, or wait, before the room is full. */
    int room() {
        return ROOM - waiting.size() - coming;
    }

    void shut() {
        shut = true;
        reported = true;
    }

    /** There is room again, if the rooms of all gates together have some. */
    void easeUnlessCrowded(boolean crowded) {
        if (waiting.size() <= ROOM / 2 && !crowded) {
            shut = false;
        }
    }

    /** Whether it is of no use to claim more events for it. */
    boolean isShut() {
        return shut
                || breaker != null
                        && (breaker.isShut() || breaker.state() == CircuitBreaker.State.OPEN && !waiting.isEmpty());
    }

    /** Whether it was shut when this was asked before, and is no longer. */
    boolean hasOpened() {
        boolean before = reported;
        reported = isShut();
        return before && !reported;
    }

    /** Whether nothing would be lost if it was made anew for the next event. */
    boolean isIdle(long now) {
        return inside == 0 && coming == 0 && waiting.isEmpty() && !shut && (bucket == null || bucket.isFull(now));
    }

    /** In how many nanoseconds it may let the next one in, as far as it knows. */
    long nanosToNext(long now) {
        return waiting.isEmpty() || bucket == null ? Long.MAX_VALUE : Math.max(1, bucket.nanosToToken(now));
    }
}
