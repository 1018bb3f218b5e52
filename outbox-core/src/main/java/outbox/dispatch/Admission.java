package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.Loop;
import outbox.registry.ListenerRegistry;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Decides whether an event may start now, according to breakers, limits and pauses. An event that may not start
 * holds no worker:
 *
 * <pre>
 *  worker ─▶ letsIn ─┬─ every gate has a free place ───▶ runs ─▶ leave ─▶ the next waiting event
 *                    ├─ a gate is full, but not its room ▶ waits in memory in order of arrival, keeps its lease
 *                    └─ paused, or the room is full ───▶ released, no attempt counted; claims skip such events
 * </pre>
 *
 * <p>An event takes its places in all gates together or in none. It waits at one gate only, the gate that refused
 * it. So gates cannot wait for each other, and a full gate delays only the events that need it. The routes of a
 * listener or a breaker are learned from the events that arrive: the registry cannot list them by listener, and a
 * claim can filter by columns only. The type, route or tenant to skip is recorded before an event is released, so
 * that the poller of this dispatcher does not claim the event again at once.
 *
 * <p>All mutable fields except {@code onOpen} are written under the lock of this object. Code that holds it may take
 * the locks of queues and breakers, but calls neither user code nor the database. If nothing is paused, an event
 * without a breaker or limit takes no lock here, because writers and workers would contend for it. Breakers and
 * rates need a thread that checks the clock. That thread runs only if a breaker or a limit is configured.
 */
final class Admission implements Loop.Step {

    private static final int MAX_WITHHELD = 2000; // of each kind; events beyond this number are claimed and released
    private static final Duration IDLE_PAUSE = Duration.ofSeconds(1);
    // while an event waits or a breaker is not closed
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(20);

    private final Protection protection;
    private final boolean hasGates;
    private final ListenerRegistry registry;
    private final DeliveryQueues queues;
    private final int maxWaiting;
    private final Consumer<Delivery> withhold;
    private final LongSupplier nanoTime;
    private final Gates gates;
    private final Loop loop;
    // routes of paused listeners, learned from events that arrived
    private final Set<String> pausedRoutes = new HashSet<>();
    private int waiting; // number of events that wait at all gates
    private long nextNanos = Long.MAX_VALUE; // time until the next token that an event waits for
    private boolean closed;
    private volatile Paused paused = Paused.NOTHING;
    private volatile Runnable onOpen = () -> {}; // set once, while the dispatcher is built

    Admission(
            Protection protection,
            ListenerRegistry registry,
            DeliveryQueues queues,
            int maxWaiting,
            Consumer<Delivery> withhold,
            ThreadFactory threads) {
        this.protection = protection;
        this.hasGates = !protection.isNone();
        this.registry = registry;
        this.gates = new Gates(protection);
        this.queues = queues;
        this.maxWaiting = maxWaiting;
        this.withhold = withhold;
        this.nanoTime = protection.nanoTime();
        this.loop = new Loop("admission", threads, this);
    }

    /** Sets the callback that runs when withheld events may be claimed again. The callback must not block. */
    void onOpen(Runnable wake) {
        onOpen = wake;
    }

    /** Starts the thread that checks the clock, if there is a breaker or limit. */
    void start() {
        if (hasGates) {
            loop.start();
        }
    }

    boolean isEverythingPaused() {
        return paused.everything();
    }

    private boolean isIdle() {
        return !hasGates && paused.isNothing();
    }

    /**
     * Returns whether an event that arrives now may be queued. If true, its gates count the event as coming until it
     * reaches {@link #letsIn} or is {@link #remove removed}.
     */
    boolean expects(Delivery delivery) {
        if (isIdle()) {
            return true;
        }
        EventEnvelope event = delivery.envelope();
        String listener = listenerOf(delivery);
        if (isFree(event, listener)) {
            return true;
        }
        synchronized (this) {
            if (isPaused(event, listener)) {
                return false;
            }
            List<Gate> needed = gatesOf(event, listener);
            long now = nanoTime.getAsLong();
            for (Gate gate : needed) {
                if (gate.room() <= 0 && gate.isBusy(now)) {
                    gate.shut();
                    return false;
                }
            }
            needed.forEach(Gate::comes);
            delivery.setAhead(needed);
            return true;
        }
    }

    /** Stops counting a delivery as coming. Called when the delivery has ended, whether it was let in or not. */
    void remove(Delivery delivery) {
        if (!delivery.ahead().isEmpty()) {
            synchronized (this) {
                came(delivery);
            }
        }
    }

    private static void came(Delivery delivery) {
        delivery.ahead().forEach(Gate::came);
        delivery.setAhead(List.of());
    }

    /**
     * Returns whether the delivery may start. If not, it waits here or was released, and the caller must not
     * use it again.
     */
    boolean letsIn(Delivery delivery) {
        if (isIdle()) {
            return true;
        }
        EventEnvelope event = delivery.envelope();
        String listener = listenerOf(delivery);
        if (delivery.ahead().isEmpty() && isFree(event, listener)) {
            return true;
        }
        synchronized (this) {
            came(delivery);
            if (!isPaused(event, listener)) {
                if (delivery.permit() != null) {
                    return true;
                }
                List<Gate> needed = gatesOf(event, listener);
                Gate refusing = closed ? null : firstWithQueue(needed);
                if (refusing == null) {
                    refusing = take(delivery, needed);
                }
                if (refusing == null) {
                    return true;
                }
                if (!closed && makeWait(new Gate.Waiter(delivery, listener), refusing)) {
                    return false;
                }
            }
        }
        cancel(delivery); // it may have been let in before the pause began
        withhold.accept(delivery);
        return false;
    }

    private @Nullable String listenerOf(Delivery delivery) {
        boolean needed = protection.needsListenerName() || !paused.listeners().isEmpty();
        return needed ? Route.of(delivery, registry).name() : null;
    }

    /** Whether no gate applies to the event and nothing is paused. */
    private boolean isFree(EventEnvelope event, @Nullable String listener) {
        return paused.isNothing() && !protection.appliesTo(event, listener);
    }

    private boolean isPaused(EventEnvelope event, @Nullable String listener) {
        Paused now = paused;
        if (listener != null && now.listeners().contains(listener)) {
            pausedRoutes.add(Route.nameOf(event));
            return true;
        }
        return now.everything() || now.types().contains(event.eventType());
    }

    private List<Gate> gatesOf(EventEnvelope event, @Nullable String listener) {
        return hasGates ? gates.of(event, listener) : List.of();
    }

    /** Returns the first gate at which events wait already. A later event must wait behind them. */
    private static @Nullable Gate firstWithQueue(List<Gate> needed) {
        return needed.stream()
                .filter(gate -> !gate.waiting.isEmpty())
                .findFirst()
                .orElse(null);
    }

    /** Takes a place in every gate and returns null, or takes none and returns the gate that is full. */
    private @Nullable Gate take(Delivery delivery, List<Gate> needed) {
        long now = nanoTime.getAsLong();
        for (Gate gate : needed) {
            if (!gate.hasPlace(now)) {
                return gate;
            }
        }
        List<Long> tickets = new ArrayList<>();
        for (Gate gate : needed) {
            long ticket = gate.breaker == null ? 0 : gate.breaker.tryEnter();
            if (ticket == CircuitBreaker.REFUSED) {
                cancel(needed, tickets);
                return gate;
            }
            tickets.add(ticket);
        }
        needed.forEach(Gate::take);
        if (!needed.isEmpty()) {
            delivery.setPermit(new Permit(needed, tickets));
        }
        return null;
    }

    private static void cancel(List<Gate> needed, List<Long> tickets) {
        for (int i = 0; i < tickets.size(); i++) {
            CircuitBreaker breaker = needed.get(i).breaker;
            if (breaker != null) {
                breaker.cancel(tickets.get(i));
            }
        }
    }

    private boolean makeWait(Gate.Waiter waiter, Gate at) {
        boolean hasRoom = at.waiting.size() < Gate.ROOM && waiting < maxWaiting;
        if (hasRoom) {
            queues.suspend(waiter.delivery());
            at.waiting.add(waiter);
            waiting++;
            loop.wake();
        }
        if (!hasRoom || at.room() <= Gate.ROOM / 4) {
            at.shut();
        }
        return hasRoom;
    }

    /**
     * Ends a run. Returns how long the event must wait before a retry that costs no attempt, if the destination
     * caused the failure, otherwise null.
     */
    @Nullable
    Duration leave(Delivery delivery, @Nullable Throwable failure) {
        return leave(delivery, failure, true);
    }

    /** Frees the places of a run that did not take place or that the dispatcher aborted. */
    void cancel(Delivery delivery) {
        leave(delivery, null, false);
    }

    private @Nullable Duration leave(Delivery delivery, @Nullable Throwable failure, boolean ran) {
        Permit permit = delivery.permit() == null ? null : takePermit(delivery);
        if (permit == null) {
            return null;
        }
        Duration excused = null;
        if (ran) {
            for (int i = 0; i < permit.tickets().size(); i++) { // outside the lock, because end may log
                CircuitBreaker breaker = permit.gates().get(i).breaker;
                Duration wait =
                        breaker == null ? null : breaker.end(permit.tickets().get(i), failure);
                excused = excused == null || wait != null && wait.compareTo(excused) > 0 ? wait : excused;
            }
        } else {
            cancel(permit.gates(), permit.tickets());
        }
        letNextIn(permit.gates());
        return excused;
    }

    private synchronized @Nullable Permit takePermit(Delivery delivery) {
        Permit permit = delivery.permit();
        delivery.setPermit(null);
        if (permit != null) {
            permit.gates().forEach(Gate::leave);
        }
        return permit;
    }

    private void letNextIn(Collection<Gate> left) {
        List<Delivery> away = new ArrayList<>();
        synchronized (this) {
            left.forEach(gate -> letNextIn(gate, away));
        }
        away.forEach(withhold);
    }

    private void letNextIn(Gate gate, List<Delivery> away) {
        for (Gate.Waiter next = gate.waiting.peek(); next != null; next = gate.waiting.peek()) {
            Delivery delivery = next.delivery();
            boolean lost = delivery.state() != Delivery.State.QUEUED; // the lease was lost while the event waited
            if (lost || isPaused(delivery.envelope(), next.listener())) {
                leaveRoom(gate, delivery);
                queues.unreserve(delivery);
                if (!lost) {
                    away.add(delivery);
                }
                continue;
            }
            // Look up the gates again: the gate of an idle tenant may have been removed and created again.
            Gate refusing = take(delivery, gatesOf(delivery.envelope(), next.listener()));
            if (refusing == gate) {
                break;
            }
            leaveRoom(gate, delivery);
            if (refusing == null) {
                queues.resume(delivery);
            } else {
                refusing.waiting.add(next);
                waiting++;
            }
        }
        gate.easeUnlessCrowded(waiting > maxWaiting / 2);
    }

    private void leaveRoom(Gate gate, Delivery first) {
        Gate.Waiter left = gate.waiting.poll();
        assert left != null && left.delivery() == first;
        waiting--;
    }

    /** Sets the pauses that were read last. */
    void paused(Paused now) {
        boolean resumed;
        synchronized (this) {
            resumed = now.resumesSomeOf(paused);
            if (resumed) {
                pausedRoutes.clear(); // routes that are still paused are learned again
            }
            paused = now;
        }
        if (resumed) {
            onOpen.run();
        }
    }

    /** Returns the event types, routes and tenants that must not be claimed now. */
    Withheld withheld() {
        if (isIdle()) {
            return Withheld.NOTHING;
        }
        synchronized (this) {
            Set<String> withheldTypes = new HashSet<>(paused.types());
            Set<String> routes = new HashSet<>(pausedRoutes);
            Set<String> withheldTenants = new HashSet<>();
            gates.addShut(withheldTypes, routes, withheldTenants);
            return new Withheld(some(withheldTypes), some(routes), some(withheldTenants));
        }
    }

    /** Returns how many events may be claimed now, so that events for busy gates find room here. */
    int claimRoom() {
        if (!hasGates) {
            return Integer.MAX_VALUE;
        }
        synchronized (this) {
            return gates.claimRoom();
        }
    }

    private static Set<String> some(Set<String> all) {
        return all.size() <= MAX_WITHHELD
                ? all
                : new HashSet<>(all.stream().sorted().limit(MAX_WITHHELD).toList());
    }

    @Override
    public synchronized long pauseNanos() {
        long pause = gates.needClock() ? Math.min(LONGEST_PAUSE.toNanos(), nextNanos) : IDLE_PAUSE.toNanos();
        return Math.max(TimeUnit.MILLISECONDS.toNanos(1), pause);
    }

    /** Checks the clock for waiting events. */
    @Override
    public void run() {
        List<Delivery> away = new ArrayList<>();
        boolean opened = false;
        synchronized (this) {
            for (Gate gate : gates.all()) {
                letNextIn(gate, away);
                opened |= gate.hasOpened();
            }
            nextNanos = gates.nanosToNext();
        }
        away.forEach(withhold);
        if (opened) {
            onOpen.run();
        }
    }

    /** Releases all waiting events. From now on no event waits here. */
    void close() {
        List<Delivery> left = new ArrayList<>();
        synchronized (this) {
            closed = true;
            for (Gate gate : gates.all()) {
                gate.waiting.forEach(waiter -> left.add(waiter.delivery()));
                gate.waiting.clear();
            }
            waiting = 0;
            left.forEach(queues::unreserve);
        }
        loop.stop();
        left.forEach(withhold);
    }

    synchronized Protection.Status status() {
        return gates.status(paused);
    }

    void report(MetricsExporter metrics) {
        if (metrics == MetricsExporter.NOOP) {
            return;
        }
        if (isIdle()) {
            metrics.recordPauses(0); // the last pause may just have ended
            return;
        }
        Protection.Status status = status();
        status.breakers()
                .forEach(breaker ->
                        metrics.recordBreaker(breaker.name(), breaker.state().name()));
        status.limits().forEach(limit -> metrics.recordLimit(limit.name(), limit.running(), limit.waiting()));
        metrics.recordPauses(status.pauses().size());
    }
}
