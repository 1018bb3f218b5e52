package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherOn;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.fake.Simulation;
import outbox.internal.Threads;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.poller.PollerOn;
import outbox.purge.OutboxPurge;
import outbox.purge.PurgeOn;
import outbox.spi.Claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * One run of two engines on one store, with a log of all deliveries. An outage is a crash or a stall of an engine. It
 * is the only reason for which a delivered event may be delivered again, and only if it lasted long enough for the
 * lease of the event to end.
 */
final class SimulatedEngines {

    /** What else happens. */
    enum Mode {
        PLAIN,
        ORDERED
    }

    private static final int EVENTS = 24;
    private static final int AGGREGATES = 3;
    private static final int OUTAGES = 5;
    private static final Duration LEASE = Duration.ofSeconds(3);
    // shorter than what remains of a lease at the start of an outage: it is renewed after a third, with some delay
    private static final Duration SHORTEST_OUTAGE = LEASE.dividedBy(3);
    private static final Duration RETRY = Duration.ofMillis(300);
    private static final Duration LIMIT = Duration.ofMinutes(10);

    private static final class RolledBack extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** One run of the listener. */
    private record Delivery(
            Engine engine, Duration start, @Nullable Duration end, boolean failed) {

        boolean isSuccess() {
            return end != null && !failed;
        }
    }

    /** A committed event. */
    private static final class Event {

        private final String id;
        private final int aggregate;
        private final int number;
        private int failures; // how often its listener fails
        private final List<Delivery> deliveries = new ArrayList<>();

        Event(String id, int aggregate, int number, int failures) {
            this.id = id;
            this.aggregate = aggregate;
            this.number = number;
            this.failures = failures;
        }

        boolean isDelivered() {
            return deliveries.stream().anyMatch(Delivery::isSuccess);
        }
    }

    private record Outage(Duration from, Duration to) {

        boolean explains(Duration before, Duration after) {
            Duration start = from.compareTo(before) > 0 ? from : before;
            Duration end = to.compareTo(after) < 0 ? to : after;
            return end.minus(start).compareTo(SHORTEST_OUTAGE) >= 0;
        }
    }

    private final long seed;
    private final Mode mode;
    private final Simulation simulation;
    private final MemoryEventStore store;
    private final MemoryTransactions transactions;
    private final List<Engine> engines = new ArrayList<>();
    private final Map<String, Event> events = new LinkedHashMap<>(); // committed ones
    private int written;
    private int outages;
    private int started; // number of engines
    private @Nullable String violation; // found by a listener, whose failure would only be an attempt

    SimulatedEngines(long seed, Mode mode) {
        this.seed = seed;
        this.mode = mode;
        simulation = new Simulation(seed);
        store = MemoryEventStore.builder().clock(simulation::readClock).build();
        transactions = new MemoryTransactions(store);
    }

    /** Runs until all events are delivered, and a while longer. Returns the history. */
    List<String> run() {
        try {
            engines.add(new Engine());
            engines.add(new Engine());
            for (int turn = 0; !isOver(turn); turn++) {
                if (outages < OUTAGES && simulation.once(1500)) {
                    outages++;
                    breakOne();
                }
                simulation.step();
                require(violation == null, String.valueOf(violation));
                require(simulation.now().compareTo(LIMIT) < 0, "Events are unfinished: " + unfinished());
            }
            Duration end = simulation.now().plus(LEASE.multipliedBy(2));
            while (simulation.now().compareTo(end) < 0) {
                simulation.step();
                require(violation == null, String.valueOf(violation));
            }
            events.values().forEach(event -> require(event.isDelivered(), "Event " + event.id + " was not delivered"));
            return simulation.history();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError(
                    "Seed " + seed + ", " + mode + ": " + e + "\n" + String.join("\n", simulation.history()), e);
        }
    }

    private boolean isOver(int turn) {
        return turn % 50 == 0
                && written >= EVENTS
                && store.pending() == 0
                && engines.stream().noneMatch(engine -> engine.node.isStalled());
    }

    private List<String> unfinished() {
        return events.values().stream()
                .filter(event -> !event.isDelivered())
                .map(event -> event.id)
                .toList();
    }

    private void require(boolean condition, String otherwise) {
        if (!condition) {
            violation = violation == null ? otherwise : violation;
            throw new AssertionError(violation);
        }
    }

    /** An engine stalls, crashes or closes. Another one starts, so that two are left. */
    private void breakOne() {
        List<Engine> alive = engines.stream()
                .filter(engine -> !engine.node.isCrashed() && !engine.isClosing)
                .toList();
        Engine engine = alive.get((int) simulation.below(alive.size()));
        switch ((int) simulation.below(3)) {
            case 0 -> engine.stall();
            case 1 -> {
                engine.crash();
                engines.add(new Engine());
            }
            default -> {
                engine.close();
                engines.add(new Engine());
            }
        }
    }

    /** A machine with a dispatcher, a poller, a purge and a program that writes. */
    private final class Engine {

        private final String name = "engine-" + started++;
        private final Simulation.Node node = simulation.new Node();
        private final List<Outage> broken = new ArrayList<>();
        private final OutboxDispatcher dispatcher;
        private final OutboxPoller poller;
        private final OutboxPurge purge;
        private final OutboxWriter writer;
        private boolean isStarted;
        private boolean isClosing;

        Engine() {
            Ordering ordering = mode == Mode.ORDERED ? Ordering.perAggregate() : Ordering.off();
            dispatcher = DispatcherOn.scheduler(node, OutboxDispatcher.builder())
                    .connectionProvider(this::connect)
                    .eventStore(store)
                    .listenerRegistry((aggregateType, eventType) -> this::deliver)
                    .ownerId(name)
                    .ordering(ordering)
                    .workerCount(3)
                    .hotQueueCapacity(4)
                    .coldQueueCapacity(6)
                    .retryPolicy(attempts -> RETRY.toMillis())
                    .leaseDuration(LEASE)
                    .build();
            poller = PollerOn.scheduler(node, OutboxPoller.builder())
                    .connectionProvider(this::connect)
                    .eventStore(store)
                    .handler(new DispatcherPollerHandler(dispatcher))
                    .lockTimeout(LEASE)
                    .intervalMs(1000)
                    .ownerId(name)
                    .build();
            purge = PurgeOn.scheduler(node, OutboxPurge.builder())
                    .connectionProvider(this::connect)
                    .eventStore(store)
                    .retention(Duration.ofSeconds(1))
                    .interval(Duration.ofSeconds(3))
                    .build();
            writer = new OutboxWriter(transactions, store, new SlowHook(this, new DispatcherCommitHook(dispatcher)));
            poller.start();
            purge.start();
            isStarted = true;
            node.repeat(Duration.ofMillis(400), this::write);
            simulation.note(name + " starts");
        }

        /** Other threads may run before each transaction, and the database may fail. */
        private Connection connect() throws SQLException {
            if (simulation.once(4)) {
                node.pause(simulation.below(Duration.ofMillis(5).toNanos()));
            }
            node.requireAlive();
            if (isStarted && simulation.once(200)) {
                throw new SQLException("The database does not answer", "08001");
            }
            return store.connections().getConnection();
        }

        /** A transaction with up to three events, which may be rolled back. Returns whether to write more. */
        private boolean write() {
            if (written >= EVENTS || isClosing) {
                return false;
            }
            List<Event> made = new ArrayList<>();
            try {
                transactions.run(() -> {
                    for (long i = simulation.below(3); i >= 0; i--) {
                        made.add(writeOne());
                    }
                    if (simulation.once(8)) {
                        throw new RolledBack();
                    }
                    made.forEach(event -> events.put(event.id, event));
                });
            } catch (RolledBack e) {
                simulation.note(name + " rolls back "
                        + made.stream().map(event -> event.id).toList());
            }
            return true;
        }

        private Event writeOne() {
            int aggregate = (int) simulation.below(AGGREGATES);
            Event event = new Event(
                    "e" + written, aggregate, written++, simulation.once(4) ? 1 + (int) simulation.below(2) : 0);
            writer.write(EventEnvelope.builder("T")
                    .eventId(event.id)
                    .aggregateType("A")
                    .aggregateId("a" + aggregate)
                    .payloadJson("{}")
                    .build());
            simulation.note(name + " writes " + event.id + " of a" + aggregate);
            return event;
        }

        private void deliver(EventEnvelope envelope) {
            require(!node.isCrashed() && !node.isStalled(), name + " runs during its outage");
            require(events.containsKey(envelope.eventId()), "Event " + envelope.eventId() + " was rolled back");
            Event event = Objects.requireNonNull(events.get(envelope.eventId()));
            Duration start = simulation.now();
            simulation.note(name + " starts " + event.id);
            checkStart(event, start);
            int place = event.deliveries.size();
            event.deliveries.add(new Delivery(this, start, null, false));
            boolean isOutermost = simulation.depth() == 1; // others would have to wait for a long pause to end
            if (isOutermost && simulation.once(80)) {
                node.pause(LEASE.multipliedBy(2).toNanos()); // its lease must be renewed meanwhile
            } else if (simulation.once(3)) {
                node.pause(simulation.below(Duration.ofMillis(60).toNanos()));
            }
            if (outages < OUTAGES && simulation.once(40)) {
                outages++;
                crash();
                engines.add(new Engine());
            } else if (outages < OUTAGES && isOutermost && simulation.once(15)) {
                outages++;
                stall();
                node.pause(0);
                event.failures++; // a late RETRY does more harm than a late DONE
            }
            node.requireAlive();
            boolean fails = event.failures > 0;
            event.failures -= fails ? 1 : 0;
            event.deliveries.set(place, new Delivery(this, start, simulation.now(), fails));
            simulation.note(name + (fails ? " fails " : " delivers ") + event.id);
            if (fails) {
                throw new IllegalStateException("This attempt fails");
            }
        }

        /** Whether this engine had an outage between the times that was long enough for its leases to end. */
        private boolean wasOut(Duration from, Duration to) {
            return broken.stream().anyMatch(outage -> outage.explains(from, to));
        }

        @Override
        public String toString() {
            return name;
        }

        private void stall() {
            Duration time = LEASE.dividedBy(4)
                    .plusNanos(simulation.below(LEASE.multipliedBy(2).toNanos()));
            simulation.note(name + " stalls for " + time);
            broken.add(new Outage(simulation.now(), simulation.now().plus(time)));
            node.stall(time);
        }

        private void crash() {
            simulation.note(name + " crashes");
            broken.add(new Outage(simulation.now(), LIMIT.multipliedBy(2)));
            node.crash();
        }

        private void close() {
            simulation.note(name + " closes");
            isClosing = true;
            try {
                poller.close();
                purge.close();
                dispatcher.close();
                simulation.note(name + " is closed");
            } catch (Simulation.Crash e) {
                simulation.note(name + " crashed during its close");
            }
        }
    }

    private void checkStart(Event event, Duration now) {
        if (!event.deliveries.isEmpty()) {
            Delivery last = event.deliveries.get(event.deliveries.size() - 1);
            Duration end = last.end();
            boolean retry = last.failed() && end != null && now.compareTo(end.plus(RETRY)) >= 0;
            require(
                    retry || last.engine().wasOut(last.start(), now),
                    "Unexplained: " + event.id + " again after " + last);
        }
        if (mode == Mode.ORDERED) {
            for (Event other : events.values()) {
                if (other.aggregate == event.aggregate) {
                    require(
                            other.number >= event.number || other.isDelivered(),
                            event.id + " starts before " + other.id + " was delivered");
                    require(
                            other.number <= event.number || other.deliveries.isEmpty(),
                            event.id + " starts after " + other.id);
                }
            }
        }
    }

    /** A hook that is called some time after the commit, or never, if its engine crashes before. */
    private record SlowHook(Engine engine, AfterCommitHook hook) implements AfterCommitHook {

        private void later(Runnable call) {
            engine.node.execute(Threads.named(engine.name, "commit"), call);
        }

        @Override
        public @Nullable Claim birthClaim(int count, long bytes) {
            return hook.birthClaim(count, bytes);
        }

        @Override
        public boolean leavesFreeEvents() {
            return hook.leavesFreeEvents();
        }

        @Override
        public void onCommit(EventEnvelope event) {
            later(() -> hook.onCommit(event));
        }

        @Override
        public void onCommit(EventEnvelope event, @Nullable Claim claim) {
            later(() -> hook.onCommit(event, claim));
        }

        @Override
        public void onScheduled(Instant availableAt) {
            later(() -> hook.onScheduled(availableAt));
        }

        @Override
        public void onFree(int count) {
            later(() -> hook.onFree(count));
        }
    }
}
