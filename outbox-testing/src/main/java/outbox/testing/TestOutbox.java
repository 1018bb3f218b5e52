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
import outbox.spi.TxContext;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * An outbox for tests. It delivers nothing in the background: {@link #deliver} delivers all due events and then
 * returns, and the test controls the clock.
 *
 * <p>The delivery itself is real: a poller claims events, and a dispatcher with one worker thread runs the listeners
 * and writes the outcomes. The test controls only the clock and the time of the delivery. The store must be a
 * {@link LeasingEventStore} with {@link outbox.admin.EventAdministration}, like all of our stores. No other outbox may
 * deliver from it.
 *
 * <p>Use it as a JUnit extension ({@code @RegisterExtension}) to delete all events and reset the clock before each
 * test. For assertions, see {@link OutboxAssertions}. Only one test thread may use it at a time.
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
    private final WatchedStore store;
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
        clock = store.clock();
        watch = store.watch();
        events = new WrittenEvents(store, connections, txContext, listeners, watch);
        OutboxWriter other = builder.writer;
        writer = other != null ? other : new OutboxWriter(txContext, store);
    }

    /**
     * Creates an outbox in memory, for tests without a database that only check written events;
     * see {@link #transactions}.
     */
    public static TestOutbox inMemory() {
        return inMemory(new DefaultListenerRegistry());
    }

    /** Creates an outbox in memory, for tests without a database. */
    public static TestOutbox inMemory(ListenerRegistry listeners) {
        MemoryEventStore store = MemoryEventStore.builder().build();
        return builder(store, store.connections(), new MemoryTransactions(store))
                .listeners(listeners)
                .build();
    }

    /**
     * Returns a builder for an outbox on the store of the code under test, {@link #watched} or not. The outbox opens
     * its own connections for delivery and joins the transactions of that code.
     */
    public static Builder builder(EventStore store, ConnectionProvider connections, TxContext txContext) {
        return new Builder(store, connections, txContext);
    }

    /**
     * Returns the store with the test clock. Use it if the code under test builds its own writer and dispatcher
     * before the test outbox exists.
     */
    public static LeasingEventStore watched(EventStore store, TestClock clock) {
        return new WatchedStore(store, clock);
    }

    /**
     * Prepares a dispatcher of the code under test for a test outbox on a {@link #watched} store. Call this last,
     * directly before {@code build()}. The dispatcher then has one worker, so events run one after the other.
     */
    public static void prepare(OutboxDispatcher.Builder builder, EventStore watched) {
        if (!(watched instanceof WatchedStore store)) {
            throw new IllegalArgumentException("The store is not one of TestOutbox.watched()");
        }
        builder.eventStore(watched).interceptor(store.watch()).workerCount(1);
    }

    /** Returns the writer for the code under test. It writes into this outbox and uses the test clock. */
    public OutboxWriter writer() {
        return writer;
    }

    /**
     * Returns the store with the test clock, for parts that the code under test builds itself: a writer with
     * interceptors, an admin, a purge.
     */
    public LeasingEventStore store() {
        return store;
    }

    /**
     * Returns the clock that controls due times, retries and deadlines. It is the clock passed to {@link #watched},
     * or else a new one. Also pass it to the code under test. Circuit breakers, rate limits and the time limit of
     * listeners use the real time.
     */
    public TestClock clock() {
        return clock;
    }

    /**
     * Returns the transactions of an outbox in memory.
     *
     * @throws IllegalStateException if the outbox uses other transactions
     */
    public MemoryTransactions transactions() {
        if (txContext instanceof MemoryTransactions memory) {
            return memory;
        }
        throw new IllegalStateException(
                "This outbox joins the transactions of " + txContext.getClass().getName() + "; begin them there");
    }

    /**
     * Returns all events in their current state, oldest first, including those of the current transaction of the
     * calling thread. Events that a gathering writer has not written yet are not included.
     */
    public List<WrittenEvent> events() {
        return events.all();
    }

    /**
     * Attempts every due event once, in order, including events that listeners write meanwhile. Returns when all
     * outcomes are committed. Failed events become due later: move the clock, or use {@link #deliverUntilQuiet}.
     *
     * @throws IllegalStateException if a transaction is active, because its events are not visible to others yet
     * @throws AssertionError if a listener has not ended before the timeout
     */
    public DeliveryReport deliver() {
        refuseInTransaction();
        // fails here if the database does not respond; a poller would only log it
        events.now();
        watch.beginCall();
        long end = System.nanoTime() + timeout.toNanos();
        try (OutboxPoller poller = poller()) {
            // The dispatcher may still be completing the last run of an event when the event is claimed again; the
            // event is then released. An event that a limit or a pause rejects is released in every round.
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

    /**
     * Delivers all due events and moves the clock to the next due time, until only events are left that cannot be
     * delivered. This runs all retries and delivers events with a later due time.
     */
    public DeliveryReport deliverUntilQuiet() {
        Instant tried = events.now();
        DeliveryReport report = deliver();
        for (int moves = 0; moves < MAX_MOVES; moves++) {
            // may already be in the past, because the clock keeps ticking
            Optional<Instant> due = events.nextDue(tried);
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

    /** Deletes all events and resets the clock. */
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

    /** Ends the threads of the dispatcher. The next delivery creates a new dispatcher. */
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
                    "A transaction is active on this thread, and its events can be delivered only once it has"
                            + " committed. End it first; a test that is @Transactional can assert what was"
                            + " written, but not deliver: it rolls back at its end.");
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

    /** Collects the settings. Every setter rejects an invalid value. Not thread-safe. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofHours(1);

        private final WatchedStore store;
        private final ConnectionProvider connections;
        private final TxContext txContext;
        private ListenerRegistry listeners = new DefaultListenerRegistry();
        private Duration timeout = Duration.ofSeconds(30);
        private @Nullable PayloadCodec payloads;
        private Consumer<OutboxDispatcher.Builder> settings = builder -> {};
        private @Nullable Supplier<OutboxDispatcher> dispatcher;
        private @Nullable OutboxWriter writer;

        private Builder(EventStore store, ConnectionProvider connections, TxContext txContext) {
            this.store = store instanceof WatchedStore watched ? watched : new WatchedStore(store, new TestClock());
            this.connections = Objects.requireNonNull(connections, "connections");
            this.txContext = Objects.requireNonNull(txContext, "txContext");
        }

        /** Sets the listeners. Default: none, so delivered events become dead. */
        public Builder listeners(ListenerRegistry listeners) {
            this.listeners = Objects.requireNonNull(listeners, "listeners");
            return this;
        }

        /** Sets the maximum duration of a delivery, up to one hour. Default: 30 s. */
        public Builder timeout(Duration timeout) {
            if (timeout.isNegative() || timeout.isZero() || timeout.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException("timeout must be positive and at most an hour: " + timeout);
            }
            this.timeout = timeout;
            return this;
        }

        /**
         * Sets the codec that converts payloads to values in assertions. Default: none, so assertions can compare
         * payloads only as text or JSON.
         */
        public Builder payloads(PayloadCodec payloads) {
            this.payloads = Objects.requireNonNull(payloads, "payloads");
            return this;
        }

        /**
         * Configures the dispatcher, such as attempts, retry rules or order. Default: the defaults
         * of {@link OutboxDispatcher}.
         */
        public Builder dispatcher(Consumer<OutboxDispatcher.Builder> settings) {
            this.settings = Objects.requireNonNull(settings, "settings");
            return this;
        }

        /**
         * Uses a {@link #prepare prepared} dispatcher of the code under test. Its creator must close it, and nothing
         * else may submit events to it. Default: the outbox creates a dispatcher.
         */
        public Builder deliveredBy(Supplier<OutboxDispatcher> dispatcher) {
            this.dispatcher = Objects.requireNonNull(dispatcher, "dispatcher");
            return this;
        }

        /**
         * Sets the writer of the code under test, which uses the {@link #watched} store. Default: the outbox creates
         * a writer.
         */
        public Builder writer(OutboxWriter writer) {
            this.writer = Objects.requireNonNull(writer, "writer");
            return this;
        }

        public TestOutbox build() {
            return new TestOutbox(this);
        }
    }
}
