package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.OrderLane.Waiting;
import outbox.internal.Loop;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;
import outbox.spi.EventOrder.Position;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Lets an ordered event start only when all earlier events of its aggregate are terminal, no matter which
 * path brought it.
 *
 * <p>One thread queries the database about all events that arrived since its last query, in one statement. The
 * result names the nearest unfinished event before each of them, its blocker. An event without a blocker is ready.
 * If this dispatcher holds the blocker, the event waits behind it and becomes ready when the outcome of the blocker
 * is committed. This needs no further query, because the blocker itself started only when everything before it was
 * terminal. If another node holds the blocker, the query is repeated with growing pauses. After a while the event is
 * released, so that a poller claims it later. Business transactions of one aggregate must be serialised. Then no
 * event can appear before an event that was already seen, and a late commit delays only its own aggregate.
 *
 * <pre>
 *  accepted ─▶ arrivals ─▶ query ─┬─ no blocker ───────────────▶ queue ─▶ worker ─▶ marked
 *                 ▲               ├─ this node has the blocker ▶ lane ◀─ ready when it is terminal ─┘
 *                 └─ query again ─┴─ another node has it ──────▶ lane ─▶ released after a while
 * </pre>
 *
 * <p>The lock of this object guards all mutable fields, except those of the loop thread. Code that holds it may take
 * the lock of the queues, but calls neither user code nor the database. Waiting events keep their room in the queues
 * and their lease. So their number is limited, and no other node claims them.
 */
final class OrderGate implements Loop.Step {

    /** Receives the deliveries that leave the gate. */
    interface Outlet {
        /** The delivery may run. */
        void ready(Delivery delivery);

        /** The delivery leaves the gate without being ready. Frees its room. */
        void unreserve(Delivery delivery);

        /** Releases the event, so that another node or a later poll claims it. */
        boolean releaseQueued(Delivery delivery);

        /** The event is no longer in the table. */
        boolean loseQueued(Delivery delivery, String why);

        /** Writes an outcome for an event that did not run. */
        void markQueued(Delivery delivery, Mark mark);
    }

    private static final Logger LOG = SafeLogger.of(OrderGate.class);
    private static final Duration FIRST_PAUSE = Duration.ofMillis(5);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(250);
    // under load: one query about more events costs less
    private static final Duration LINGER = Duration.ofMillis(10);
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final int MAX_ASKED = 1000;
    // further events wait in the table, because other aggregates need the room
    private static final int MAX_LANE = 100;

    private final ClaimedStore store;
    private final Ordering ordering;
    private final Outlet outlet;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private final Loop loop;
    private final Map<OrderLane.Key, OrderLane> lanes = new HashMap<>();
    private final List<Waiting> arrivals = new ArrayList<>(); // events to query next
    // events in a lane whose blocker this dispatcher does not hold
    private final Set<Waiting> strays = new HashSet<>();
    private final Set<Long> finishedWhileAsking = new HashSet<>();
    private boolean asking;
    private boolean closed;
    private Duration pause = FIRST_PAUSE; // pause after a failed query; loop thread only
    private long failedUntilNanos; // end of that pause; loop thread only
    private boolean failed; // whether the last query failed; loop thread only

    OrderGate(ClaimedStore store, Ordering ordering, Outlet outlet, ThreadFactory threads) {
        this.store = store;
        this.ordering = ordering;
        this.outlet = outlet;
        this.loop = new Loop("order gate", threads, this);
    }

    void start() {
        loop.start();
    }

    boolean appliesTo(Delivery delivery) {
        return ordering.appliesTo(delivery.envelope());
    }

    /** Adds a delivery that has its room in the queues. */
    void add(Delivery delivery) {
        synchronized (this) {
            if (!closed) {
                arrivals.add(new Waiting(delivery));
                if (arrivals.size() == 1) {
                    loop.signal();
                }
                return;
            }
        }
        outlet.unreserve(delivery);
        outlet.releaseQueued(delivery);
    }

    /** Closes the gate and releases the waiting events. */
    void close() {
        List<Waiting> left;
        synchronized (this) {
            closed = true;
            left = new ArrayList<>(arrivals);
            arrivals.clear();
            lanes.values().forEach(lane -> left.addAll(lane.takeBehind(0)));
            strays.clear();
        }
        loop.stop();
        release(left);
    }

    boolean awaitEnd(Duration patience) throws InterruptedException {
        return loop.awaitEnd(patience);
    }

    /** Called when the outcome of an event is committed, or when its claim was not found in the database. */
    void marked(Delivery delivery, Mark mark, boolean found) {
        if (delivery.number() <= 0) {
            return;
        }
        if (!found) {
            remove(delivery);
            return;
        }
        switch (mark.status()) {
            case DONE -> finished(delivery);
            case DEAD -> {
                switch (ordering.whenDead()) {
                    case SKIP -> finished(delivery);
                    case PARK -> leaveBehind(delivery).forEach(one -> park(one.delivery(), delivery.number()));
                    case BLOCK -> release(leaveBehind(delivery));
                }
            }
            default -> release(leaveBehind(delivery)); // until its next attempt
        }
    }

    /**
     * Removes a delivery that this dispatcher no longer holds. A new query finds out whether its event is terminal.
     */
    synchronized void remove(Delivery delivery) {
        OrderLane lane = laneOf(delivery);
        if (lane == null) {
            return;
        }
        Waiting waiting = lane.leave(delivery);
        if (waiting != null) {
            strays.remove(waiting);
            outlet.unreserve(delivery);
        }
        askAgain(lane.takeDirectlyBehind(delivery.number()));
        forgetIfEmpty(delivery, lane);
    }

    private @Nullable OrderLane laneOf(Delivery delivery) {
        return delivery.number() <= 0 ? null : lanes.get(OrderLane.Key.of(delivery));
    }

    private void forgetIfEmpty(Delivery delivery, OrderLane lane) {
        if (lane.isEmpty()) {
            lanes.remove(OrderLane.Key.of(delivery));
        }
    }

    private void askAgain(Collection<Waiting> some) {
        if (!some.isEmpty()) {
            strays.removeAll(some);
            arrivals.addAll(some);
            loop.signal();
        }
    }

    /** Removes the delivery and everything behind it. Returns the deliveries behind it. */
    private synchronized List<Waiting> leaveBehind(Delivery delivery) {
        OrderLane lane = laneOf(delivery);
        if (lane == null) {
            return List.of();
        }
        lane.leave(delivery);
        List<Waiting> behind = lane.takeBehind(delivery.number());
        behind.forEach(strays::remove);
        forgetIfEmpty(delivery, lane);
        return behind;
    }

    /** Makes the first event that waited for this one ready. The others then wait for that event. */
    private synchronized void finished(Delivery delivery) {
        if (asking) {
            finishedWhileAsking.add(delivery.number());
        }
        OrderLane lane = laneOf(delivery);
        if (lane == null) {
            return;
        }
        lane.leave(delivery);
        List<Waiting> waiting = lane.takeDirectlyBehind(delivery.number());
        if (!waiting.isEmpty()) {
            Waiting first = waiting.get(0);
            strays.removeAll(waiting);
            waiting.subList(1, waiting.size())
                    .forEach(one -> lane.add(one.behind(first.delivery().number())));
            pass(lane, first.delivery());
        }
        forgetIfEmpty(delivery, lane);
    }

    /**
     * Lets the delivery pass, also if its lease has just been lost: no worker will start it, and {@link #remove}
     * queries again for the events behind it.
     */
    private void pass(OrderLane lane, Delivery delivery) {
        lane.pass(delivery);
        outlet.ready(delivery);
    }

    private void release(List<Waiting> some) {
        some.forEach(one -> letOut(one.delivery(), outlet::releaseQueued));
    }

    private void park(Delivery delivery, long dead) {
        Mark mark = Mark.dead(
                delivery.eventId(),
                delivery.token(),
                false,
                "Parked: event number " + dead + " of the same aggregate is dead. Find out why, then replay both.");
        letOut(delivery, parked -> outlet.markQueued(parked, mark));
    }

    /** A failure with one delivery must not stop the others. */
    private void letOut(Delivery delivery, Consumer<Delivery> exit) {
        try {
            outlet.unreserve(delivery);
            exit.accept(delivery);
        } catch (Throwable e) {
            trouble.log(Level.ERROR, "Event " + delivery.eventId() + " left the order gate with a failure", e);
        }
    }

    /** Queries the positions of events that arrived, and of strays that are due. */
    @Override
    public void run() {
        failed = false;
        List<Waiting> asked = nextToAsk();
        if (asked.isEmpty()) {
            return;
        }
        Map<String, Position> positions;
        try {
            List<String> eventIds =
                    asked.stream().map(one -> one.delivery().eventId()).toList();
            positions = Objects.requireNonNull(store.positions(eventIds, ordering));
        } catch (RuntimeException | Error e) {
            trouble.log(Level.ERROR, "Cannot read the order of events; trying again", e);
            askLater(asked);
            return;
        }
        pause = FIRST_PAUSE;
        decide(asked, positions);
        if (asked.size() > 1) {
            LockSupport.parkNanos(LINGER.toNanos());
        }
    }

    @Override
    public long pauseNanos() {
        if (failed) {
            return failedUntilNanos - System.nanoTime();
        }
        synchronized (this) {
            long left = arrivals.isEmpty() ? LONGEST_PAUSE.toNanos() : 0;
            long now = System.nanoTime();
            for (Waiting one : strays) {
                left = Math.min(left, one.askNanos() - now);
            }
            return left;
        }
    }

    private synchronized List<Waiting> nextToAsk() {
        finishedWhileAsking.clear();
        collectDueStrays();
        List<Waiting> asked = new ArrayList<>();
        List<Waiting> some = arrivals.subList(0, Math.min(MAX_ASKED, arrivals.size()));
        for (Waiting one : some) {
            if (one.delivery().state() == Delivery.State.QUEUED) {
                asked.add(one);
            } else {
                outlet.unreserve(one.delivery()); // the lease was lost
            }
        }
        some.clear();
        asking = !asked.isEmpty();
        return asked;
    }

    /** Moves strays that are due to the arrivals. */
    private void collectDueStrays() {
        long now = System.nanoTime();
        for (Iterator<Waiting> i = strays.iterator(); i.hasNext(); ) {
            Waiting one = i.next();
            OrderLane lane = lanes.get(OrderLane.Key.of(one.delivery()));
            if (lane == null || lane.has(one.blocker())) {
                i.remove(); // this dispatcher holds the blocker now
            } else if (one.askNanos() - now <= 0) {
                i.remove();
                lane.leave(one.delivery());
                forgetIfEmpty(one.delivery(), lane);
                arrivals.add(one);
            }
        }
    }

    private void decide(List<Waiting> asked, Map<String, Position> positions) {
        List<Waiting> released = new ArrayList<>();
        List<Waiting> lost = new ArrayList<>();
        Map<Waiting, Long> parked = new HashMap<>();
        synchronized (this) {
            for (Waiting one : asked) {
                Position position = positions.get(one.delivery().eventId());
                if (closed) {
                    released.add(one);
                } else if (position == null) {
                    lost.add(one);
                } else if (position.deadBefore() > 0 && ordering.whenDead() == WhenDead.PARK) {
                    one.delivery().setNumber(position.number());
                    parked.put(one, position.deadBefore());
                } else if (!place(one, position)) {
                    released.add(one);
                }
            }
            asking = false;
        }
        release(released);
        lost.forEach(one -> letOut(one.delivery(), gone -> outlet.loseQueued(gone, "it has no row")));
        parked.forEach((one, dead) -> park(one.delivery(), dead));
    }

    /** Lets the event pass or wait. Returns false if the event must be released instead. */
    private boolean place(Waiting one, Position position) {
        Delivery delivery = one.delivery();
        delivery.setNumber(position.number());
        if (delivery.state() != Delivery.State.QUEUED) { // lost during the query; no event may wait for it
            outlet.unreserve(delivery);
            return true;
        }
        if (position.deadBefore() > 0 && ordering.whenDead() == WhenDead.BLOCK) {
            return false;
        }
        if (position.number() <= 0) {
            outlet.ready(delivery);
            return true;
        }
        long blocker = position.unfinishedBefore();
        OrderLane lane = lanes.computeIfAbsent(OrderLane.Key.of(delivery), none -> new OrderLane());
        boolean placed = true;
        if (blocker == 0 || finishedWhileAsking.contains(blocker)) {
            pass(lane, delivery);
        } else if (lane.waiting() >= MAX_LANE || !lane.has(blocker) && one.hasWaited(PATIENCE)) {
            placed = false;
        } else {
            lane.add(one.behind(blocker));
            if (!lane.has(blocker)) {
                one.askLater(FIRST_PAUSE, LONGEST_PAUSE);
                strays.add(one);
            }
        }
        forgetIfEmpty(delivery, lane);
        return placed;
    }

    /** Queries the same events again after a pause, because the query failed. */
    private void askLater(List<Waiting> asked) {
        failed = true;
        failedUntilNanos = System.nanoTime() + pause.toNanos();
        pause = OrderLane.shorter(pause.multipliedBy(2), PATIENCE);
        synchronized (this) {
            asking = false;
            if (!closed) {
                arrivals.addAll(0, asked);
                return;
            }
        }
        release(asked);
    }
}
