package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.fake.Eventually;
import outbox.fake.FakeConnections;
import outbox.fake.ScriptedStore;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.Position;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An order gate between real queues and a table in memory. Events are named by aggregate and number. {@link #close}
 * ends the thread of the gate.
 */
final class OrderGateRig implements AutoCloseable, OrderGate.Outlet {

    static final int CAPACITY = 50;
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    final List<Delivery> released = new CopyOnWriteArrayList<>();
    final List<Delivery> lost = new CopyOnWriteArrayList<>();
    final Map<Delivery, Mark> parked = new ConcurrentHashMap<>();
    final OrderGate gate;
    private final DeliveryQueues queues = new DeliveryQueues(CAPACITY, CAPACITY, Long.MAX_VALUE);
    private final Map<String, NavigableMap<Long, EventStatus>> table = new HashMap<>(); // guarded by itself
    private final Set<String> hidden = new HashSet<>(); // guarded by table
    private final AtomicInteger asked = new AtomicInteger();
    private final AtomicInteger toFail = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();
    private final AtomicBoolean failLost = new AtomicBoolean();
    private final AtomicReference<Runnable> duringQuestion = new AtomicReference<>(() -> {});

    OrderGateRig(Ordering ordering) {
        LeasingEventStore store = ScriptedStore.of(
                (self, method, arguments) -> method.getName().equals("positions") ? answer(arguments[1]) : null,
                EventOrder.class);
        gate = new OrderGate(
                new ClaimedStore(new FakeConnections(), store, "test", Duration.ofMinutes(5), null, false),
                ordering,
                this,
                task -> new Thread(task, "gate"));
        gate.start();
    }

    private Map<String, Position> answer(Object eventIds) {
        if (toFail.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            failed.incrementAndGet();
            throw new IllegalStateException("The database does not answer");
        }
        Map<String, Position> positions = new HashMap<>();
        Collection<?> ids = (Collection<?>) eventIds;
        synchronized (table) {
            ids.stream()
                    .map(String.class::cast)
                    .filter(id -> !hidden.contains(id))
                    .forEach(id -> positions.put(id, position(id)));
        }
        duringQuestion.getAndSet(() -> {}).run();
        asked.addAndGet(ids.size());
        return positions;
    }

    private Position position(String id) {
        String aggregate = id.substring(0, id.indexOf('-'));
        long number = Long.parseLong(id.substring(id.indexOf('-') + 1));
        long unfinished = 0;
        long dead = 0;
        for (Map.Entry<Long, EventStatus> before :
                rowsOf(aggregate).headMap(number, false).entrySet()) {
            if (hidden.contains(aggregate + "-" + before.getKey())) {
                continue;
            }
            switch (before.getValue()) {
                case NEW, RETRY -> unfinished = before.getKey();
                case DEAD -> dead = before.getKey();
                default -> {}
            }
        }
        return new Position(number, unfinished, dead);
    }

    private NavigableMap<Long, EventStatus> rowsOf(String aggregate) {
        return table.computeIfAbsent(aggregate, none -> new TreeMap<>());
    }

    private void set(String aggregate, long number, EventStatus status) {
        synchronized (table) {
            rowsOf(aggregate).put(number, status);
        }
    }

    // ---- the table ----

    void hide(String aggregate, long number) {
        synchronized (table) {
            hidden.add(aggregate + "-" + number);
        }
    }

    void show(String aggregate, long number) {
        synchronized (table) {
            hidden.remove(aggregate + "-" + number);
        }
    }

    /** Adds an event that another node holds. */
    void foreign(String aggregate, long number) {
        set(aggregate, number, EventStatus.NEW);
    }

    void finishedElsewhere(String aggregate, long number) {
        set(aggregate, number, EventStatus.DONE);
    }

    void deadElsewhere(String aggregate, long number) {
        set(aggregate, number, EventStatus.DEAD);
    }

    /** Runs the action on the thread of the gate, after the store has replied and before the gate uses the reply. */
    void duringNextQuestion(Runnable action) {
        duringQuestion.set(action);
    }

    /** The callback for the next event that is missing in the table does its work and then throws. */
    void failNextVanished() {
        failLost.set(true);
    }

    void failQuestions(int times) {
        toFail.set(times);
    }

    int questionsFailed() {
        return failed.get();
    }

    // ---- events ----

    Delivery add(String aggregate, long number) {
        set(aggregate, number, EventStatus.NEW);
        EventEnvelope event = EventEnvelope.builder("T")
                .eventId(aggregate + "-" + number)
                .aggregateType("A")
                .aggregateId(aggregate)
                .payloadJson("{}")
                .build();
        Delivery delivery = new Delivery(
                new QueuedEvent(event, Source.HOT, 0), Claim.startingNow("token", Duration.ofMinutes(5)), false);
        assertThat(queues.reserve(delivery)).isTrue();
        gate.add(delivery);
        return delivery;
    }

    /** Adds an event whose lease is lost during the query about it. */
    void loseDuringQuestion(Supplier<Delivery> adding) {
        CompletableFuture<Delivery> added = new CompletableFuture<>();
        duringQuestion.set(() -> lose(added.join(), () -> {}));
        added.complete(adding.get());
    }

    /** Loses the lease of an event that has not started. The action runs before the gate is told. */
    void lose(Delivery delivery, Runnable meanwhile) {
        assertThat(delivery.skip()).isTrue();
        meanwhile.run();
        remove(delivery);
    }

    void done(Delivery delivery) {
        set(aggregate(delivery), delivery.number(), EventStatus.DONE);
        end(delivery, Mark.done(delivery.eventId(), "token"), true);
    }

    void retry(Delivery delivery) {
        set(aggregate(delivery), delivery.number(), EventStatus.RETRY);
        end(delivery, Mark.retry(delivery.eventId(), "token", true, Duration.ZERO, "boom"), true);
    }

    void dead(Delivery delivery) {
        set(aggregate(delivery), delivery.number(), EventStatus.DEAD);
        end(delivery, Mark.dead(delivery.eventId(), "token", true, "boom"), true);
    }

    void lostBeforeMark(Delivery delivery) {
        end(delivery, Mark.done(delivery.eventId(), "token"), false);
    }

    private void end(Delivery delivery, Mark mark, boolean stillOurs) {
        gate.marked(delivery, mark, stillOurs);
        remove(delivery);
    }

    private void remove(Delivery delivery) {
        queues.remove(delivery);
        gate.remove(delivery);
    }

    private static String aggregate(Delivery delivery) {
        return Objects.requireNonNull(delivery.envelope().aggregateId());
    }

    // ---- results ----

    /** Returns the next delivery that a worker gets. */
    Delivery awaitReady() {
        return awaitReady(null);
    }

    /** Returns the next delivery, but skips {@code lost}, which no worker would start any more. */
    Delivery awaitReady(@Nullable Delivery lost) {
        AtomicReference<@Nullable Delivery> next = new AtomicReference<>(lost);
        await(() -> {
            next.set(queues.takeNow());
            return next.get() != null && next.get() != lost;
        });
        Delivery ready = Objects.requireNonNull(next.get());
        assertThat(ready.start(null)).isTrue();
        return ready;
    }

    boolean isNothingReady() {
        return queues.takeNow() == null;
    }

    /**
     * Waits until the gate has received and used the replies about this number of events, counted from the start.
     */
    void awaitAsked(int events) {
        await(() -> asked.get() >= events);
        await(() -> {
            // the gate decides under its lock, so it has used the reply or waits for the lock
            synchronized (gate) {
                return !Boolean.TRUE.equals(read("asking"));
            }
        });
    }

    void await(BooleanSupplier condition) {
        Eventually.eventually(() -> assertThat(condition.getAsBoolean()).isTrue());
    }

    /**
     * Asserts that all room is free again and the gate keeps no state. Reads the fields of the gate by reflection,
     * because only this test needs them.
     */
    void assertEmpty() {
        await(() -> queues.depth(Source.HOT) == 0);
        assertThat(queues.room(Source.HOT)).isEqualTo(CAPACITY);
        assertThat(queues.byteRoom()).isEqualTo(Long.MAX_VALUE);
        synchronized (gate) {
            assertThat((Map<?, ?>) read("lanes")).isEmpty();
            assertThat((Collection<?>) read("strays")).isEmpty();
            assertThat((Collection<?>) read("arrivals")).isEmpty();
        }
    }

    private Object read(String field) {
        try {
            Field found = OrderGate.class.getDeclaredField(field);
            found.setAccessible(true);
            return found.get(gate);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("OrderGate has no such field", e);
        }
    }

    @Override
    public void ready(Delivery delivery) {
        queues.ready(delivery);
    }

    @Override
    public void unreserve(Delivery delivery) {
        queues.unreserve(delivery);
    }

    @Override
    public boolean releaseQueued(Delivery delivery) {
        boolean skipped = delivery.skip();
        if (skipped) {
            remove(delivery);
            released.add(delivery);
        }
        return skipped;
    }

    @Override
    public boolean loseQueued(Delivery delivery, String why) {
        boolean skipped = delivery.skip();
        if (skipped) {
            remove(delivery);
            lost.add(delivery);
            if (failLost.getAndSet(false)) {
                throw new IllegalStateException("cannot log");
            }
        }
        return skipped;
    }

    @Override
    public void markQueued(Delivery delivery, Mark mark) {
        if (delivery.start(null)) {
            parked.put(delivery, mark);
            set(aggregate(delivery), delivery.number(), EventStatus.DEAD);
            end(delivery, mark, true);
        }
    }

    @Override
    public void close() {
        gate.close();
        try {
            assertThat(gate.awaitEnd(PATIENCE)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
