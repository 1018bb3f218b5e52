package outbox.testing;

import org.assertj.core.api.AssertProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import outbox.OutboxWriter;
import outbox.admin.EventSummary;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.memory.MemoryEventStore;
import outbox.memory.MemoryTransactions;
import outbox.payload.PayloadCodec;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.registry.ListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.SettableClockEventStore;
import outbox.spi.TxContext;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * An outbox under test: nothing is delivered in the background, {@link #deliver} delivers what is due and returns when it is done, and time passes when the test says so.
 *
 * <p>Delivery is the real one: a poller claims, a dispatcher with one worker runs the listeners on a thread of its own and writes the outcomes. Only the clock and the moment are the test's. The store is
 * any that is a {@link LeasingEventStore} and an {@link outbox.spi.AdminEventStore}, as all of ours are; this outbox must be the only one that delivers from it.
 *
 * <p>As a JUnit extension ({@code @RegisterExtension}) it is empty, with the clock set back, before each test. Assertions: {@link OutboxAssertions}. For one test thread at a time.
 */
public final class TestOutbox
        implements BeforeEachCallback, AfterEachCallback, AutoCloseable, AssertProvider<OutboxAssert> {

    private static final int BATCH = 100;
    private static final int MAX_MOVES = 1000;
    private static final int MAX_IDLE_ROUNDS = 5;
    private static final long LOOK_MILLIS = 2;

    private final ConnectionProvider connections;
    private final TxContext txContext;
    private final ListenerRegistry listeners;
    private final TestClock clock;
    private final Duration timeout;
    private final @Nullable PayloadCodec payloads;
    private final Consumer<OutboxDispatcher.Builder> settings;
    private final DeliveryWatch watch;
    private final SettableClockEventStore store;
    private final WrittenEvents events;
    private final OutboxWriter writer;
    private final @Nullable Supplier<OutboxDispatcher> given;
    private @Nullable OutboxDispatcher own; // test thread only

    private TestOutbox(Builder builder) {
        connections = builder.connections;
        txContext = builder.txContext;
        listeners = builder.listeners;
        timeout = builder.timeout;
        payloads = builder.payloads;
        settings = builder.settings;
        given = builder.dispatcher;
        store = builder.store;
        WatchedStore watched = Objects.requireNonNull(WatchedStore.of(store));
        clock = watched.clock();
        watch = watched.watch();
        events = new WrittenEvents(store, connections, txContext, listeners, watch);
        OutboxWriter other = builder.writer;
        writer = other != null ? other : new OutboxWriter(txContext, store);
    }

    /** In memory, for tests without a database that look at what is written; see {@link #transactions}. */
    public static TestOutbox inMemory() {
        return inMemory(new DefaultListenerRegistry());
    }

    /** In memory, for tests without a database. */
    public static TestOutbox inMemory(ListenerRegistry listeners) {
        MemoryEventStore store = MemoryEventStore.builder().build();
        return builder(store, store.connections(), new MemoryTransactions(store))
                .listeners(listeners)
                .build();
    }

    /** On the store of the code under test, {@link #watched} or not, with connections of its own and the transactions of that code. */
    public static Builder builder(EventStore store, ConnectionProvider connections, TxContext txContext) {
        return new Builder(store, connections, txContext);
    }

    /** The store with the test's clock, for code under test that builds its writer and its dispatcher itself, before there is a test outbox. */
    public static SettableClockEventStore watched(EventStore store, TestClock clock) {
        return WatchedStore.of(store, clock);
    }

    /** Makes a dispatcher that the code under test builds fit for a test outbox on that {@link #watched} store; the last to be called before its {@code build()}. It has one worker then: events run one after the other. */
    public static void prepare(OutboxDispatcher.Builder builder, EventStore watched) {
        WatchedStore store = WatchedStore.of(watched);
        if (store == null) {
            throw new IllegalArgumentException("The store is not one of TestOutbox.watched()");
        }
        builder.eventStore(watched).interceptor(store.watch()).workerCount(1);
    }

    /** Writes into this outbox, with the test's clock. For the code under test. */
    public OutboxWriter writer() {
        return writer;
    }

    /** The store with the test's clock, for parts that the code under test builds itself: a writer with interceptors, an admin, a purge. */
    public SettableClockEventStore store() {
        return store;
    }

    /** Moves due times, retries and deadlines; the same that {@link #watched} got, else a new one. Give it to the code under test as well. Breakers, limits of rate and the time limit of listeners go by the real time. */
    public TestClock clock() {
        return clock;
    }

    /**
     * The transactions of an outbox in memory.
     *
     * @throws IllegalStateException if it has others
     */
    public MemoryTransactions transactions() {
        if (txContext instanceof MemoryTransactions memory) {
            return memory;
        }
        throw new IllegalStateException(
                "This outbox joins the transactions of " + txContext.getClass().getName() + "; begin them there");
    }

    /** All events, the oldest first, as they are now; also those of the transaction that the calling thread is in. What a gathering writer still keeps is not among them. */
    public List<WrittenEvent> events() {
        return events.all();
    }

    /**
     * Gives every event that is due one attempt, in order, and those too that listeners write meanwhile; returns when all outcomes are committed. What fails is due again later: move the clock, or use
     * {@link #deliverUntilQuiet}.
     *
     * @throws IllegalStateException inside a transaction, whose events nobody else can see
     * @throws AssertionError if a listener has not ended in time
     */
    public DeliveryReport deliver() {
        refuseInTransaction();
        events.now(); // a database that does not answer fails here; a poller would log it
        watch.beginCall();
        long end = System.nanoTime() + timeout.toNanos();
        try (OutboxPoller poller = poller()) {
            // an event may be claimed while the end of its last run is still being noted, and is given back then; one
            // that a limit or a pause turns away is given back each time
            for (int idle = 0; idle < MAX_IDLE_ROUNDS; ) {
                watch.beginRound();
                poller.poll();
                List<String> claimed = watch.claimed();
                awaitOutcomes(claimed, end);
                if (watch.hasProgress()) {
                    idle = 0;
                } else if (claimed.isEmpty()) {
                    break;
                } else {
                    idle++;
                }
            }
        }
        return new DeliveryReport(watch.endedEvents().stream()
                .map(events::byId)
                .flatMap(Optional::stream)
                .toList());
    }

    /** Delivers, and moves the clock on to whatever becomes due next, until nothing is left but what cannot be delivered: all retries run, and events with a due time come. */
    public DeliveryReport deliverUntilQuiet() {
        Instant tried = events.now();
        DeliveryReport report = deliver();
        for (int moves = 0; moves < MAX_MOVES; moves++) {
            Optional<Instant> due = events.nextDue(tried); // it may have passed since: the clock ticks
            if (due.isEmpty()) {
                return report;
            }
            Instant now = events.now();
            if (due.get().isAfter(now)) {
                clock.advance(Duration.between(now, due.get()));
            }
            tried = due.get();
            report = report.and(deliver());
        }
        throw new AssertionError(
                "The outbox is not quiet after " + MAX_MOVES + " moves of the clock:\n" + list(events()));
    }

    /** Deletes all events and sets the clock back. */
    public void clear() {
        refuseInTransaction();
        clock.reset();
        watch.forget();
        events.clear();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        clear();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        close();
    }

    /** Ends the threads of the dispatcher; the next delivery has a new one. */
    @Override
    public void close() {
        OutboxDispatcher dispatcher = own;
        own = null;
        if (dispatcher != null) {
            dispatcher.close();
        }
    }

    @Override
    public OutboxAssert assertThat() {
        return new OutboxAssert(this);
    }

    @Nullable
    PayloadCodec payloads() {
        return payloads;
    }

    boolean isInTransaction() {
        return txContext.isTransactionActive();
    }

    static String list(List<WrittenEvent> events) {
        StringBuilder lines = new StringBuilder();
        events.forEach(event -> lines.append("  ").append(event).append('\n'));
        return events.isEmpty() ? "  nothing\n" : lines.toString();
    }

    private void refuseInTransaction() {
        if (txContext.isTransactionActive()) {
            throw new IllegalStateException(
                    "A transaction is active on this thread, and its events can be delivered only once it has committed. End it first; a test that"
                            + " is @Transactional can assert what was written, but not deliver: it rolls back at its end.");
        }
    }

    private OutboxPoller poller() {
        return OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher()))
                .batchSize(BATCH)
                .build();
    }

    private OutboxDispatcher dispatcher() {
        if (given != null) {
            return given.get();
        }
        OutboxDispatcher dispatcher = own;
        if (dispatcher == null) {
            OutboxDispatcher.Builder builder =
                    OutboxDispatcher.builder().connectionProvider(connections).listenerRegistry(listeners);
            settings.accept(builder);
            prepare(builder, store);
            dispatcher = builder.build();
            own = dispatcher;
        }
        return dispatcher;
    }

    private void awaitOutcomes(List<String> claimed, long end) {
        try {
            while (!claimed.isEmpty()) {
                List<EventSummary> held = events.held(claimed);
                if (held.isEmpty()) {
                    return;
                }
                if (System.nanoTime() - end >= 0) {
                    throw new AssertionError("These events are still being delivered after " + timeout + ": "
                            + held.stream().map(EventSummary::eventType).toList());
                }
                watch.awaitEnd(LOOK_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("Interrupted while events are being delivered", e);
        }
    }

    /** Collects the settings; every setter refuses a wrong value. Not thread-safe. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofHours(1);

        private final SettableClockEventStore store;
        private final ConnectionProvider connections;
        private final TxContext txContext;
        private ListenerRegistry listeners = new DefaultListenerRegistry();
        private Duration timeout = Duration.ofSeconds(30);
        private @Nullable PayloadCodec payloads;
        private Consumer<OutboxDispatcher.Builder> settings = builder -> {};
        private @Nullable Supplier<OutboxDispatcher> dispatcher;
        private @Nullable OutboxWriter writer;

        private Builder(EventStore store, ConnectionProvider connections, TxContext txContext) {
            this.store = WatchedStore.of(store) != null
                    ? (SettableClockEventStore) store
                    : WatchedStore.of(store, new TestClock());
            this.connections = Objects.requireNonNull(connections, "connections");
            this.txContext = Objects.requireNonNull(txContext, "txContext");
        }

        /** Default: none, so that what is delivered is dead. */
        public Builder listeners(ListenerRegistry listeners) {
            this.listeners = Objects.requireNonNull(listeners, "listeners");
            return this;
        }

        /** How long a delivery may take, up to an hour; default 30 s. */
        public Builder timeout(Duration timeout) {
            if (timeout.isNegative() || timeout.isZero() || timeout.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException("timeout must be positive and at most an hour: " + timeout);
            }
            this.timeout = timeout;
            return this;
        }

        /** How payloads become values in assertions; default: none, so that they can be compared as text or JSON only. */
        public Builder payloads(PayloadCodec payloads) {
            this.payloads = Objects.requireNonNull(payloads, "payloads");
            return this;
        }

        /** Settings of the dispatcher, such as attempts, retry rules or order; default: those of {@link OutboxDispatcher}. */
        public Builder dispatcher(Consumer<OutboxDispatcher.Builder> settings) {
            this.settings = Objects.requireNonNull(settings, "settings");
            return this;
        }

        /** Delivers by a dispatcher of the code under test, which was {@link #prepare prepared}; who built it closes it, and nothing else may bring it events. Default: one of its own. */
        public Builder deliveredBy(Supplier<OutboxDispatcher> dispatcher) {
            this.dispatcher = Objects.requireNonNull(dispatcher, "dispatcher");
            return this;
        }

        /** The writer of the code under test, on the {@link #watched} store; default: one of its own. */
        public Builder writer(OutboxWriter writer) {
            this.writer = Objects.requireNonNull(writer, "writer");
            return this;
        }

        public TestOutbox build() {
            return new TestOutbox(this);
        }
    }
}
