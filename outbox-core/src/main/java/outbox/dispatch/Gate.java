package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.Protection.Limit;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * One breaker or one limit, with the deliveries that wait for it. When its waiting room is almost full, the gate is
 * shut: claims skip its events until half of the room is free. An event that arrives anyway and finds no room is
 * released. Guarded by the lock of its {@link Admission}.
 */
final class Gate {

    /** How many deliveries wait in memory for one gate. Further events wait in the table. */
    static final int ROOM = 64;

    private static final int MAX_ROUTES = 1000;

    /** How a claim can select the events of a gate: by type, by tenant, or by the routes that were seen. */
    enum Kind {
        TYPE,
        LISTENER,
        TENANT,
        BREAKER
    }

    /** A waiting delivery, with the name of its listener if the name was needed. */
    record Waiter(Delivery delivery, @Nullable String listener) {}

    final Kind kind;
    final String name;
    final @Nullable CircuitBreaker breaker;
    final Deque<Waiter> waiting = new ArrayDeque<>();
    final Set<String> routes = new HashSet<>(); // routes of the events that were seen
    private final int concurrency;
    private final @Nullable TokenBucket bucket;
    private int inside; // deliveries that have a place
    private int coming; // deliveries in the queues that will need this gate
    private boolean shut; // the room was almost full and is not half empty yet
    private boolean reported; // whether the gate was shut at the last call of hasOpened, or was shut since

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
            routes.add(Route.nameOf(event));
        }
    }

    /** For a limit: whether one more event may start. */
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

    /** Whether an event that arrives now would have to wait. */
    boolean isBusy(long now) {
        return !waiting.isEmpty()
                || !hasPlace(now)
                || breaker != null && breaker.state() != CircuitBreaker.State.CLOSED;
    }

    /** Returns how many more events may come or wait before the room is full. */
    int room() {
        return ROOM - waiting.size() - coming;
    }

    void shut() {
        shut = true;
        reported = true;
    }

    /** Opens the gate if half of its room is free and the gates together are not crowded. */
    void easeUnlessCrowded(boolean crowded) {
        if (waiting.size() <= ROOM / 2 && !crowded) {
            shut = false;
        }
    }

    /** Whether claiming more events for this gate is useless. */
    boolean isShut() {
        return shut
                || breaker != null
                        && (breaker.isShut() || breaker.state() == CircuitBreaker.State.OPEN && !waiting.isEmpty());
    }

    /** Whether the gate was shut at the previous call, or since, and is open now. */
    boolean hasOpened() {
        boolean before = reported;
        reported = isShut();
        return before && !reported;
    }

    /** Whether the gate can be removed and created again for the next event without losing state. */
    boolean isIdle(long now) {
        return inside == 0 && coming == 0 && waiting.isEmpty() && !shut && (bucket == null || bucket.isFull(now));
    }

    /** Returns the nanoseconds until the gate may let the next event in, as far as it knows. */
    long nanosToNext(long now) {
        return waiting.isEmpty() || bucket == null ? Long.MAX_VALUE : Math.max(1, bucket.nanosToToken(now));
    }
}
