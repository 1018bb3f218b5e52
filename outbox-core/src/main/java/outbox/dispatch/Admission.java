package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.QuietLog;
import outbox.spi.MetricsExporter;
import outbox.spi.SafeLogger;
import outbox.spi.Withheld;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Decides whether an event may start now, by breakers, limits and pauses. What may not holds no worker:
 *
 * <pre>
 *  worker ─▶ letsIn ─┬─ every gate has a place ─▶ runs ─▶ leave ─▶ the next that waits
 *                    ├─ a gate has none, its room has ─▶ waits in memory, keeps its lease, in the order of arrival
 *                    └─ paused, or the room is full ───▶ given back, no attempt counted; claims pass over its kind meanwhile
 * </pre>
 *
 * <p>An event takes its places in all gates at once or in none, and waits at one gate only, the one that refused it. So gates cannot wait for each other, and a full gate holds up
 * nobody who does not need it. Which routes belong to a listener or a breaker is learned from the events that come: the registry cannot be asked, and a claim needs names of columns.
 * The kind of an event is noted before the event is given back, so the poller of this dispatcher does not bring it again.
 *
 * <p>Everything mutable is written under this object's lock, under which the locks of queues and breakers may be taken, but neither user code nor the database is called. An event that
 * no breaker or limit is for, while nothing is paused, takes no lock here: writers and workers would queue up for it. Breakers and rates need somebody to look at the clock: a thread of
 * their own, which there is only with a protection.
 */
final class Admission implements Runnable {

    private static final Logger LOG = SafeLogger.of(Admission.class);
    private static final int MAX_WITHHELD = 2000; // of each kind; what is beyond is claimed and given back
    private static final Duration IDLE_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(20); // while something waits, or is open

    private final Protection protection;
    private final boolean hasGates;
    private final ListenerNames names;
    private final DeliveryQueues queues;
    private final int maxWaiting;
    private final Consumer<Delivery> giveBack;
    private final LongSupplier nanoTime;
    private final QuietLog trouble = new QuietLog(LOG);
    private final Map<CircuitBreaker, Gate> breakers =
            new LinkedHashMap<>(); // by identity: they do not override equals
    private final Map<String, Gate> types = new HashMap<>();
    private final Map<String, Gate> listeners = new HashMap<>();
    private final Map<String, Gate> tenants = new HashMap<>(); // forgotten when idle
    private final Set<String> pausedRoutes = new HashSet<>(); // of paused listeners, as far as they came
    private int waiting; // at all gates
    private long nextNanos = Long.MAX_VALUE; // to the next token that somebody waits for
    private boolean closed;
    private volatile Paused paused = Paused.NOTHING;
    private volatile Runnable onOpen = () -> {};

    Admission(
            Protection protection,
            ListenerNames names,
            DeliveryQueues queues,
            int maxWaiting,
            Consumer<Delivery> giveBack) {
        this.protection = protection;
        this.hasGates = !protection.isNone();
        this.names = names;
        this.queues = queues;
        this.maxWaiting = maxWaiting;
        this.giveBack = giveBack;
        this.nanoTime = protection.nanoTime();
    }

    /** Called when events that were withheld may be claimed again. Must not wait. */
    void onOpen(Runnable wake) {
        onOpen = wake;
    }

    boolean hasGates() {
        return hasGates;
    }

    boolean isEverythingPaused() {
        return paused.everything();
    }

    private boolean isIdle() {
        return !hasGates && paused.isNothing();
    }

    /** Whether an event that comes now may be queued; then it is expected here until it came or is {@link #gone}. */
    boolean expects(Delivery delivery) {
        if (isIdle()) {
            return true;
        }
        EventEnvelope event = delivery.envelope();
        String listener = listenerOf(event);
        if (isFree(event, listener)) {
            return true;
        }
        synchronized (this) {
            if (isPaused(event, listener)) {
                return false;
            }
            List<Gate> gates = gatesOf(event, listener);
            long now = nanoTime.getAsLong();
            for (Gate gate : gates) {
                if (gate.room() <= 0 && gate.isBusy(now)) {
                    gate.shut();
                    return false;
                }
            }
            gates.forEach(Gate::comes);
            delivery.setAhead(gates);
            return true;
        }
    }

    /** The delivery, let in or not, is finished with. */
    void gone(Delivery delivery) {
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

    /** Whether the delivery may start. If not, it waits here or was given back: the caller has no more to do with it. */
    boolean letsIn(Delivery delivery) {
        if (isIdle()) {
            return true;
        }
        EventEnvelope event = delivery.envelope();
        String listener = listenerOf(event);
        if (delivery.ahead().isEmpty() && isFree(event, listener)) {
            return true;
        }
        synchronized (this) {
            came(delivery);
            if (!isPaused(event, listener)) {
                if (delivery.pass() != null) {
                    return true;
                }
                List<Gate> gates = gatesOf(event, listener);
                Gate refusing = closed ? null : firstWithQueue(gates);
                if (refusing == null) {
                    refusing = take(delivery, gates);
                }
                if (refusing == null) {
                    return true;
                }
                if (!closed && makeWait(new Gate.Waiter(delivery, listener), refusing)) {
                    return false;
                }
            }
        }
        abandon(delivery); // it may have been let in before the pause
        giveBack.accept(delivery);
        return false;
    }

    private @Nullable String listenerOf(EventEnvelope event) {
        boolean needed = protection.needsListenerName() || !paused.listeners().isEmpty();
        return needed ? names.of(event) : null;
    }

    /** Whether no gate is for the event, and nothing is paused at the moment. */
    private boolean isFree(EventEnvelope event, @Nullable String listener) {
        return paused.isNothing() && !protection.appliesTo(event, listener);
    }

    private boolean isPaused(EventEnvelope event, @Nullable String listener) {
        Paused now = paused;
        if (listener != null && now.listeners().contains(listener)) {
            pausedRoutes.add(ListenerNames.route(event));
            return true;
        }
        return now.everything() || now.types().contains(event.eventType());
    }

    private List<Gate> gatesOf(EventEnvelope event, @Nullable String listener) {
        if (!hasGates) {
            return List.of();
        }
        List<Gate> gates = new ArrayList<>();
        protection.breakersOfType(event.eventType()).forEach(breaker -> add(gates, breaker));
        limit(gates, types, Gate.Kind.TYPE, event.eventType(), protection.limitOfType(event.eventType()));
        if (listener != null) {
            protection.breakersOfListener(listener).forEach(breaker -> add(gates, breaker));
            limit(gates, listeners, Gate.Kind.LISTENER, listener, protection.limitOfListener(listener));
        }
        String tenant = event.tenantId();
        if (tenant != null) {
            limit(gates, tenants, Gate.Kind.TENANT, tenant, protection.limitOfTenant(tenant));
        }
        gates.forEach(gate -> gate.saw(event));
        return gates;
    }

    private void add(List<Gate> gates, CircuitBreaker breaker) {
        Gate gate = breakers.computeIfAbsent(breaker, Gate::of);
        if (!gates.contains(gate)) {
            gates.add(gate);
        }
    }

    private void limit(List<Gate> gates, Map<String, Gate> known, Gate.Kind kind, String name, @Nullable Limit limit) {
        if (limit != null) {
            gates.add(known.computeIfAbsent(name, none -> Gate.of(kind, name, limit, nanoTime.getAsLong())));
        }
    }

    /** Who comes later waits behind those who wait. */
    private static @Nullable Gate firstWithQueue(List<Gate> gates) {
        return gates.stream()
                .filter(gate -> !gate.waiting.isEmpty())
                .findFirst()
                .orElse(null);
    }

    /** Takes a place in every gate, or in none and answers the gate that has none. */
    private @Nullable Gate take(Delivery delivery, List<Gate> gates) {
        long now = nanoTime.getAsLong();
        for (Gate gate : gates) {
            if (!gate.hasPlace(now)) {
                return gate;
            }
        }
        List<Long> tickets = new ArrayList<>();
        for (Gate gate : gates) {
            long ticket = gate.breaker == null ? 0 : gate.breaker.tryEnter();
            if (ticket == CircuitBreaker.REFUSED) {
                cancel(gates, tickets);
                return gate;
            }
            tickets.add(ticket);
        }
        gates.forEach(Gate::take);
        if (!gates.isEmpty()) {
            delivery.setPass(new Pass(gates, tickets));
        }
        return null;
    }

    private static void cancel(List<Gate> gates, List<Long> tickets) {
        for (int i = 0; i < tickets.size(); i++) {
            CircuitBreaker breaker = gates.get(i).breaker;
            if (breaker != null) {
                breaker.cancel(tickets.get(i));
            }
        }
    }

    private boolean makeWait(Gate.Waiter waiter, Gate at) {
        boolean hasRoom = at.waiting.size() < Gate.ROOM && waiting < maxWaiting;
        if (hasRoom) {
            queues.setAside(waiter.delivery());
            at.waiting.add(waiter);
            waiting++;
            notifyAll();
        }
        if (!hasRoom || at.room() <= Gate.ROOM / 4) {
            at.shut();
        }
        return hasRoom;
    }

    /** The run has ended. Answers how long its event should wait, uncounted, if the destination is to blame for the failure; null if it is not. */
    @Nullable
    Duration leave(Delivery delivery, @Nullable Throwable failure) {
        return leave(delivery, failure, true);
    }

    /** The run did not take place, or was cut short by us. */
    void abandon(Delivery delivery) {
        leave(delivery, null, false);
    }

    private @Nullable Duration leave(Delivery delivery, @Nullable Throwable failure, boolean ran) {
        Pass pass = delivery.pass() == null ? null : takePass(delivery);
        if (pass == null) {
            return null;
        }
        Duration excused = null;
        if (ran) {
            for (int i = 0; i < pass.tickets().size(); i++) { // outside the lock: a change of state is logged
                CircuitBreaker breaker = pass.gates().get(i).breaker;
                Duration wait =
                        breaker == null ? null : breaker.end(pass.tickets().get(i), failure);
                excused = excused == null || wait != null && wait.compareTo(excused) > 0 ? wait : excused;
            }
        } else {
            cancel(pass.gates(), pass.tickets());
        }
        letNextIn(pass.gates());
        return excused;
    }

    private synchronized @Nullable Pass takePass(Delivery delivery) {
        Pass pass = delivery.pass();
        delivery.setPass(null);
        if (pass != null) {
            pass.gates().forEach(Gate::leave);
        }
        return pass;
    }

    private void letNextIn(Collection<Gate> gates) {
        List<Delivery> away = new ArrayList<>();
        synchronized (this) {
            gates.forEach(gate -> letNextIn(gate, away));
        }
        away.forEach(giveBack);
    }

    private void letNextIn(Gate gate, List<Delivery> away) {
        for (Gate.Waiter next = gate.waiting.peek(); next != null; next = gate.waiting.peek()) {
            Delivery delivery = next.delivery();
            boolean lost = delivery.state() != Delivery.State.QUEUED; // its lease, while it waited
            if (lost || isPaused(delivery.envelope(), next.listener())) {
                leaveRoom(gate, delivery);
                queues.free(delivery);
                if (!lost) {
                    away.add(delivery);
                }
                continue;
            }
            // Looked up anew: the gate of a tenant that nobody stands at may have been forgotten and made again
            // meanwhile.
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

    /** What was last read about pauses. */
    void paused(Paused now) {
        boolean resumed;
        synchronized (this) {
            resumed = now.resumesSomeOf(paused);
            if (resumed) {
                pausedRoutes.clear(); // those that still apply are learned again
            }
            paused = now;
        }
        if (resumed) {
            onOpen.run();
        }
    }

    /** What must not be claimed now. */
    Withheld withheld() {
        if (isIdle()) {
            return Withheld.NOTHING;
        }
        synchronized (this) {
            Set<String> withheldTypes = new HashSet<>(paused.types());
            Set<String> routes = new HashSet<>(pausedRoutes);
            Set<String> withheldTenants = new HashSet<>();
            for (Gate gate : gates()) {
                if (gate.isShut()) {
                    switch (gate.kind) {
                        case TYPE -> withheldTypes.add(gate.name);
                        case TENANT -> withheldTenants.add(gate.name);
                        case LISTENER, BREAKER -> routes.addAll(gate.routes);
                    }
                }
            }
            return new Withheld(some(withheldTypes), some(routes), some(withheldTenants));
        }
    }

    /** How many events may be claimed now, so that those for busy gates find room here, whoever the events are for. */
    int claimRoom() {
        int room = Integer.MAX_VALUE;
        if (hasGates) {
            synchronized (this) {
                long now = nanoTime.getAsLong();
                for (Gate gate : gates()) {
                    if (!gate.isShut() && gate.isBusy(now)) {
                        room = Math.min(room, Math.max(1, gate.room()));
                    }
                }
            }
        }
        return room;
    }

    private static Set<String> some(Set<String> all) {
        return all.size() <= MAX_WITHHELD
                ? all
                : new HashSet<>(all.stream().sorted().limit(MAX_WITHHELD).toList());
    }

    private List<Gate> gates() {
        List<Gate> all = new ArrayList<>(breakers.values());
        all.addAll(types.values());
        all.addAll(listeners.values());
        all.addAll(tenants.values());
        return all;
    }

    /** Looks at the clock for those who wait. */
    @Override
    public void run() {
        while (awaitSomething()) {
            try {
                lookAtTheClock();
            } catch (RuntimeException | Error e) { // of a clock of the user's
                trouble.log(Level.ERROR, "Cannot let in what waits; trying again", e);
            }
        }
    }

    private synchronized boolean awaitSomething() {
        try {
            if (!closed) {
                TimeUnit.NANOSECONDS.timedWait(this, pauseNanos());
            }
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "Interrupt ignored: this ends by close", e);
        }
        return !closed;
    }

    private long pauseNanos() {
        long pause = IDLE_PAUSE.toNanos();
        for (Gate gate : gates()) {
            CircuitBreaker breaker = gate.breaker;
            if (!gate.waiting.isEmpty() || breaker != null && breaker.state() != CircuitBreaker.State.CLOSED) {
                pause = Math.min(pause, Math.min(LONGEST_PAUSE.toNanos(), nextNanos));
            }
        }
        return Math.max(TimeUnit.MILLISECONDS.toNanos(1), pause);
    }

    private void lookAtTheClock() {
        List<Delivery> away = new ArrayList<>();
        boolean opened = false;
        synchronized (this) {
            for (Gate gate : gates()) {
                letNextIn(gate, away);
                opened |= gate.hasOpened();
            }
            long now = nanoTime.getAsLong();
            nextNanos = Long.MAX_VALUE;
            gates().forEach(gate -> nextNanos = Math.min(nextNanos, gate.nanosToNext(now)));
            tenants.values().removeIf(gate -> gate.isIdle(now));
        }
        away.forEach(giveBack);
        if (opened) {
            onOpen.run();
        }
    }

    /** Lets nobody wait any more; what waits is given back. */
    void close() {
        List<Delivery> left = new ArrayList<>();
        synchronized (this) {
            closed = true;
            for (Gate gate : gates()) {
                gate.waiting.forEach(waiter -> left.add(waiter.delivery()));
                gate.waiting.clear();
            }
            waiting = 0;
            left.forEach(queues::free);
            notifyAll();
        }
        left.forEach(giveBack);
    }

    synchronized ProtectionStatus status() {
        List<ProtectionStatus.Breaker> breakerStates = new ArrayList<>();
        List<ProtectionStatus.Place> limits = new ArrayList<>();
        for (Gate gate : gates()) {
            CircuitBreaker breaker = gate.breaker;
            if (breaker == null) {
                limits.add(new ProtectionStatus.Place(
                        gate.kind.name().toLowerCase(Locale.ROOT) + " " + gate.name,
                        gate.inside(),
                        gate.waiting.size(),
                        gate.isShut()));
            } else {
                breakerStates.add(new ProtectionStatus.Breaker(
                        breaker.name(), breaker.state(), breaker.reason(), gate.waiting.size()));
            }
        }
        return new ProtectionStatus(breakerStates, limits, paused.all());
    }

    void report(MetricsExporter metrics) {
        if (metrics == MetricsExporter.NOOP) {
            return;
        }
        if (isIdle()) {
            metrics.recordPauses(0); // the last one may just have ended
            return;
        }
        ProtectionStatus status = status();
        status.breakers()
                .forEach(breaker ->
                        metrics.recordBreaker(breaker.name(), breaker.state().name()));
        status.limits().forEach(limit -> metrics.recordLimit(limit.name(), limit.running(), limit.waiting()));
        metrics.recordPauses(status.pauses().size());
    }
}
