package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.OrderLane.Waiting;
import outbox.internal.QuietLog;
import outbox.order.Ordering;
import outbox.order.WhenDead;
import outbox.spi.Mark;
import outbox.spi.Position;
import outbox.spi.SafeLogger;

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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Lets an ordered event start only when the events of its aggregate that were written before it are terminal, whichever path brought it.
 *
 * <p>One thread asks the database about all events that arrived since it asked last, in one statement. The answer names the nearest unfinished event before each one. Without such
 * a blocker the event is ready. If this dispatcher has the blocker, the event waits behind it and becomes ready when the blocker's outcome is committed; nothing more is asked,
 * because the blocker itself only started when everything before it was terminal. If another node has the blocker, the database is asked again, less and less often, and after a
 * while the event is given back, for a poller to take when its time has come. Business transactions of one aggregate are serialised, so no event appears before one that was seen,
 * and a late commit delays its own aggregate only.
 *
 * <pre>
 *  accepted ─▶ arrivals ─▶ asked ─┬─ no blocker ─────────▶ queue ─▶ worker ─▶ marked
 *                 ▲               ├─ we have the blocker ▶ lane ◀── ready when it is marked terminal ──┘
 *                 └── ask again ──┴─ another node has it ▶ lane ──▶ given back after a while
 * </pre>
 *
 * <p>Everything mutable is guarded by this object's lock, under which the queues' lock may be taken, but neither user code nor the database is called. What waits here keeps its
 * room in the queues and its lease, so it is bounded and stays ours.
 */
final class OrderGate implements Runnable {

    /** What the gate needs of its dispatcher. */
    interface Outlet {
        /** The delivery may run. */
        void ready(Delivery delivery);

        /** The delivery leaves the gate without being ready: frees its room. */
        void drop(Delivery delivery);

        /** The event is for another time or node. */
        void giveBack(Delivery delivery);

        /** The event is not in the table any more. */
        void vanished(Delivery delivery);

        /** The event ends DEAD without a run. */
        void park(Delivery delivery, Mark mark);
    }

    private static final Logger LOG = SafeLogger.of(OrderGate.class);
    private static final Duration FIRST_PAUSE = Duration.ofMillis(5);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(250);
    private static final Duration LINGER = Duration.ofMillis(10); // under load: asking about more at a time costs less
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final int MAX_ASKED = 1000;
    private static final int MAX_LANE = 100; // what is beyond waits in the table: other aggregates need the room

    private final ClaimedStore store;
    private final Ordering ordering;
    private final Outlet outlet;
    private final QuietLog trouble = new QuietLog(LOG);
    private final CountDownLatch ended = new CountDownLatch(1);
    private final Map<OrderLane.Key, OrderLane> lanes = new HashMap<>();
    private final List<Waiting> arrivals = new ArrayList<>(); // to be asked about
    private final Set<Waiting> strays = new HashSet<>(); // in a lane, behind an event that we do not have
    private final Set<Long> finishedWhileAsking = new HashSet<>();
    private boolean asking;
    private boolean closed;
    private Duration pause = FIRST_PAUSE; // after a question without an answer; the gate's thread only

    OrderGate(ClaimedStore store, Ordering ordering, Outlet outlet) {
        this.store = store;
        this.ordering = ordering;
        this.outlet = outlet;
    }

    boolean appliesTo(Delivery delivery) {
        return ordering.appliesTo(delivery.envelope());
    }

    /** Takes a delivery that has its room in the queues. */
    void add(Delivery delivery) {
        synchronized (this) {
            if (!closed) {
                arrivals.add(new Waiting(delivery));
                notifyAll();
                return;
            }
        }
        outlet.drop(delivery);
        outlet.giveBack(delivery);
    }

    /** Lets nothing more pass; what waits is given back. */
    void close() {
        List<Waiting> left;
        synchronized (this) {
            closed = true;
            left = new ArrayList<>(arrivals);
            arrivals.clear();
            lanes.values().forEach(lane -> left.addAll(lane.takeBehind(0)));
            strays.clear();
            notifyAll();
        }
        giveBack(left);
    }

    boolean awaitEnd(Duration patience) throws InterruptedException {
        return ended.await(patience.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** The outcome of an event is in the database for sure, or its claim was not found there. */
    void marked(Delivery delivery, Mark mark, boolean found) {
        if (delivery.number() <= 0) {
            return;
        }
        if (!found) {
            gone(delivery);
            return;
        }
        switch (mark.status()) {
            case DONE -> finished(delivery);
            case DEAD -> {
                switch (ordering.whenDead()) {
                    case SKIP -> finished(delivery);
                    case PARK -> leaveBehind(delivery).forEach(one -> park(one.delivery(), delivery.number()));
                    case BLOCK -> giveBack(leaveBehind(delivery));
                }
            }
            default -> giveBack(leaveBehind(delivery)); // until its next attempt
        }
    }

    /** This dispatcher has nothing more to do with the delivery; whether its event is terminal is for the database to say. */
    synchronized void gone(Delivery delivery) {
        OrderLane lane = laneOf(delivery);
        if (lane == null) {
            return;
        }
        Waiting waiting = lane.leave(delivery);
        if (waiting != null) {
            strays.remove(waiting);
            outlet.drop(delivery);
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
            notifyAll();
        }
    }

    /** Takes out the delivery and everything behind it. */
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

    /** The first that waited for it is ready, the others wait for that one. */
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

    /** One whose lease is lost just now passes too: no worker will start it, and {@link #gone} asks again about those behind it. */
    private void pass(OrderLane lane, Delivery delivery) {
        lane.pass(delivery);
        outlet.ready(delivery);
    }

    private void giveBack(List<Waiting> some) {
        some.forEach(one -> letOut(one.delivery(), outlet::giveBack));
    }

    private void park(Delivery delivery, long dead) {
        Mark mark = Mark.dead(
                delivery.eventId(),
                delivery.token(),
                false,
                "Parked: event number " + dead + " of the same aggregate is dead. Find out why, then replay both.");
        letOut(delivery, parked -> outlet.park(parked, mark));
    }

    /** What fails with one delivery must not keep the others. */
    private void letOut(Delivery delivery, Consumer<Delivery> exit) {
        try {
            outlet.drop(delivery);
            exit.accept(delivery);
        } catch (Throwable e) {
            trouble.log(Level.ERROR, "Event " + delivery.eventId() + " left the order gate with a failure", e);
        }
    }

    @Override
    public void run() {
        boolean open = true;
        try {
            while (open) {
                open = askNext();
            }
        } finally {
            ended.countDown();
        }
    }

    /** Whatever fails here, the gate goes on: what waits has no other way out. False when closed. */
    private boolean askNext() {
        try {
            List<Waiting> asked = nextToAsk();
            if (asked.isEmpty()) {
                return false;
            }
            Map<String, Position> positions = positions(asked);
            if (positions != null) {
                decide(asked, positions);
                linger(asked.size());
            }
        } catch (Throwable e) {
            trouble.log(Level.ERROR, "The order gate failed; it goes on", e);
            LockSupport.parkNanos(FIRST_PAUSE.toNanos());
        }
        return true;
    }

    /** Null, after a pause, if the database did not answer. */
    private @Nullable Map<String, Position> positions(List<Waiting> asked) {
        try {
            List<String> eventIds =
                    asked.stream().map(one -> one.delivery().eventId()).toList();
            Map<String, Position> positions = Objects.requireNonNull(store.positions(eventIds, ordering));
            pause = FIRST_PAUSE;
            return positions;
        } catch (RuntimeException | Error e) {
            trouble.log(Level.ERROR, "Cannot read the order of events; trying again", e);
            later(asked);
            return null;
        }
    }

    private static void linger(int asked) {
        if (asked > 1) {
            LockSupport.parkNanos(LINGER.toNanos());
        }
    }

    /** Waits for arrivals, or for the time to ask again; empty when closed. */
    private synchronized List<Waiting> nextToAsk() {
        asking = false;
        finishedWhileAsking.clear();
        List<Waiting> asked = new ArrayList<>();
        while (!closed && asked.isEmpty()) {
            long pause = collectDueStrays();
            if (arrivals.isEmpty()) {
                waitFor(pause);
            } else {
                List<Waiting> some = arrivals.subList(0, Math.min(MAX_ASKED, arrivals.size()));
                for (Waiting one : some) {
                    if (one.delivery().state() == Delivery.State.QUEUED) {
                        asked.add(one);
                    } else {
                        outlet.drop(one.delivery()); // its lease was lost
                    }
                }
                some.clear();
            }
        }
        asking = !closed;
        return asked;
    }

    /** Moves strays that are due to the arrivals; answers in how many nanoseconds the next one is. */
    private long collectDueStrays() {
        long pause = LONGEST_PAUSE.toNanos();
        long now = System.nanoTime();
        for (Iterator<Waiting> i = strays.iterator(); i.hasNext(); ) {
            Waiting one = i.next();
            OrderLane lane = lanes.get(OrderLane.Key.of(one.delivery()));
            if (lane == null || lane.has(one.blocker())) {
                i.remove(); // it came into our hands after all
            } else if (one.askNanos() - now <= 0) {
                i.remove();
                lane.leave(one.delivery());
                forgetIfEmpty(one.delivery(), lane);
                arrivals.add(one);
            } else {
                pause = Math.min(pause, one.askNanos() - now);
            }
        }
        return pause;
    }

    private void waitFor(long nanos) {
        try {
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(TimeUnit.MILLISECONDS.toNanos(1), nanos));
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "Interrupt ignored: the gate ends by close", e);
        }
    }

    private void decide(List<Waiting> asked, Map<String, Position> positions) {
        List<Waiting> givenBack = new ArrayList<>();
        List<Waiting> vanished = new ArrayList<>();
        Map<Waiting, Long> parked = new HashMap<>();
        synchronized (this) {
            for (Waiting one : asked) {
                Position position = positions.get(one.delivery().eventId());
                if (closed) {
                    givenBack.add(one);
                } else if (position == null) {
                    vanished.add(one);
                } else if (position.deadBefore() > 0 && ordering.whenDead() == WhenDead.PARK) {
                    one.delivery().setNumber(position.number());
                    parked.put(one, position.deadBefore());
                } else if (!place(one, position)) {
                    givenBack.add(one);
                }
            }
        }
        giveBack(givenBack);
        vanished.forEach(one -> letOut(one.delivery(), outlet::vanished));
        parked.forEach((one, dead) -> park(one.delivery(), dead));
    }

    /** Lets the event pass or wait; false if it is neither ready nor worth the wait. */
    private boolean place(Waiting one, Position position) {
        Delivery delivery = one.delivery();
        delivery.setNumber(position.number());
        if (delivery.state() != Delivery.State.QUEUED) { // lost during the question: nobody may wait for it
            outlet.drop(delivery);
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

    /** The database did not answer: asks about the same events again after a pause. */
    private void later(List<Waiting> asked) {
        long nanos = pause.toNanos();
        pause = OrderLane.shorter(pause.multipliedBy(2), PATIENCE);
        synchronized (this) {
            if (!closed) {
                arrivals.addAll(0, asked);
                asking = false;
                long end = System.nanoTime() + nanos;
                for (long left = nanos; left > 0 && !closed; left = end - System.nanoTime()) {
                    waitFor(left);
                }
                return;
            }
        }
        giveBack(asked);
    }
}
