package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import outbox.jdbc.Capability;
import outbox.order.WhenDead;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * The only outbox of an application, or, under {@code named}, each of several.
 *
 * @param enabled whether there is any outbox, and any bean of this library; of a named outbox, whether there is that one
 * @param named several outboxes by their names, each with the keys of the only one; then there is no other one, and those keys are set nowhere else
 * @param role what this process does: both, writer (another process delivers) or relay (other processes write)
 * @param dataSource name of the DataSource bean; by default the only or primary one
 * @param transactionManager name of the transaction manager bean; by default the one of the data source
 * @param table name of the table, with an optional schema; by default outbox_event
 * @param layout which columns the table has: outbox (our own), module, or text-status
 * @param capabilities what the table can do beyond the plain one: order, control, pauses, attempts, inbox, reconcile. The start fails if it cannot
 * @param ownerId names this node in the claims of events; by default host and process
 * @param lease how long a claim of an event lasts without renewal before another node may take it, 1s to a year; the same on all nodes
 * @param databaseTimeout how long to wait for an answer of the database before another connection is tried, at most half the lease; by default 5s
 * @param shutdownTimeout how long a shutdown waits for all that runs, 3s to 1h; shorter than spring.lifecycle.timeout-per-shutdown-phase
 */
@ConfigurationProperties("outbox")
record OutboxProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue Map<String, OutboxProperties> named,
        @DefaultValue("both") Role role,
        @Nullable String dataSource,
        @Nullable String transactionManager,
        @Nullable String table,
        @DefaultValue("outbox") Layout layout,
        @DefaultValue Set<Capability> capabilities,
        @Nullable String ownerId,
        @DefaultValue("5m") Duration lease,
        @Nullable Duration databaseTimeout,
        @DefaultValue("25s") Duration shutdownTimeout,
        @DefaultValue Jdbc jdbc,
        @DefaultValue Writer writer,
        @DefaultValue Dispatcher dispatcher,
        @DefaultValue Poller poller,
        @DefaultValue Purge purge,
        @DefaultValue Order ordering,
        @DefaultValue Retry retry,
        @DefaultValue Protect protection,
        @DefaultValue SingleActive singleActive) {

    /** Those of the outbox with this name. */
    OutboxProperties of(String outbox) {
        return named.isEmpty() ? this : Objects.requireNonNull(named.get(outbox), outbox);
    }

    /**
     * The tables.
     *
     * @param initializeSchema when the tables are created at the start: embedded (databases in memory only), always or never
     * @param checkSchema whether the start fails if the table is missing, or lacks what the capabilities need
     */
    record Jdbc(
            @DefaultValue("embedded") SchemaInitialization initializeSchema,
            @DefaultValue("true") boolean checkSchema) {}

    /**
     * How events are written.
     *
     * @param gathering whether events of a transaction are gathered and stored together before its commit
     * @param refuseDuplicates whether a write with a key that another pending event has fails, rather than being left out
     */
    record Writer(
            @DefaultValue("false") boolean gathering,
            @DefaultValue("false") boolean refuseDuplicates) {}

    /**
     * Queues and workers.
     *
     * @param workers how many events run at a time, 0 to 10000
     * @param virtualThreads whether workers are virtual threads, which needs Java 21; by default as spring.threads.virtual.enabled says
     * @param hotQueueCapacity how many events wait between their commit and a worker, at least 1; what finds no room is left to the poller
     * @param coldQueueCapacity how many events wait between the poller and a worker, at least 1
     * @param maxQueuedBytes how much payload may be held in memory, at least 1B; by default 64MB, at most a sixteenth of the heap
     * @param drainTimeout how long a shutdown lets listeners finish before it interrupts them, from 0; shorter than outbox.shutdown-timeout by at least 3s
     * @param listenerTimeLimit how long a listener may run before it is interrupted and its attempt counts as failed, 1ms to a year
     * @param keepAttempts how many of its last attempts the history of an event has, 0 to 1000; needs the capability attempts
     * @param deleteDone whether delivered events are deleted at once instead of being kept until a purge
     * @param untakenLimit if set, events without a listener here are left to other nodes, and are dead when due for so long, 1ms to a year; by default they are dead at once
     */
    record Dispatcher(
            @DefaultValue("4") int workers,
            @Nullable Boolean virtualThreads,
            @DefaultValue("1000") int hotQueueCapacity,
            @DefaultValue("1000") int coldQueueCapacity,
            @Nullable DataSize maxQueuedBytes,
            @DefaultValue("5s") Duration drainTimeout,
            @DefaultValue("10m") Duration listenerTimeLimit,
            @DefaultValue("10") int keepAttempts,
            @DefaultValue("false") boolean deleteDone,
            @Nullable Duration untakenLimit) {}

    /**
     * The loop that finds due events.
     *
     * @param interval how long the poller waits while there is nothing to do, 1ms to a year
     * @param batchSize how many events a poll takes at most, at least 1; by default 50, and more while there is a backlog
     * @param skipRecent leaves events alone that were stored less than this ago, 0 to a year
     */
    record Poller(
            @DefaultValue("5s") Duration interval,
            @Nullable Integer batchSize,
            @DefaultValue("0") Duration skipRecent) {}

    /**
     * Deletes old events.
     *
     * @param enabled whether delivered events are deleted when they are past their retention
     * @param retention how long delivered events are kept, 0 to 36500d
     * @param deadRetention how long dead events are kept, 1ms to 36500d; by default for ever
     * @param batchSize how many events a transaction deletes at most, 1 to 10000
     * @param interval how long the purge waits after a run, 1ms to 36500d
     */
    record Purge(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("7d") Duration retention,
            @Nullable Duration deadRetention,
            @DefaultValue("100") int batchSize,
            @DefaultValue("10m") Duration interval) {}

    /**
     * Delivery in order.
     *
     * @param perAggregate whether events of an aggregate are delivered in order; the same on all nodes
     * @param onlyTypes the event types that are ordered; by default all
     * @param exceptTypes the event types that are not ordered; by default none
     * @param whenDead what becomes of an aggregate with a dead event: block, skip or park
     */
    record Order(
            @DefaultValue("false") boolean perAggregate,
            @DefaultValue Set<String> onlyTypes,
            @DefaultValue Set<String> exceptTypes,
            @DefaultValue("block") WhenDead whenDead) {}

    /** How the wait after a failed attempt grows. */
    enum Backoff {
        EXPONENTIAL,
        FIXED,
        LINEAR,
        SERIES
    }

    /**
     * What follows a failed attempt.
     *
     * @param maxAttempts after how many failed attempts an event is dead, at least 1; by default 10, with another layout than outbox 25
     * @param policy how the wait grows: exponential, fixed, linear or series
     * @param first the first wait, 1ms to a year; of the linear policy also the step
     * @param longest the longest wait, 1ms to a year, not shorter than the first
     * @param jitter a random time of up to this is added to an exponential wait, 1ms to a year; by default waits are spread by half
     * @param waits the waits of the series policy, one after the other; the last repeats
     * @param neverOn names of exception classes after which an event is dead at once
     * @param types rules for event types, by the type in brackets
     * @param listeners rules for listeners, by their names
     */
    record Retry(
            @Nullable Integer maxAttempts,
            @DefaultValue("exponential") Backoff policy,
            @DefaultValue("200ms") Duration first,
            @DefaultValue("60s") Duration longest,
            @Nullable Duration jitter,
            @DefaultValue List<Duration> waits,
            @DefaultValue List<Class<? extends Throwable>> neverOn,
            @DefaultValue Map<String, Rule> types,
            @DefaultValue Map<String, Rule> listeners) {}

    /**
     * A rule for some events; what it does not say is as for all.
     *
     * @param maxAttempts after how many failed attempts an event is dead
     * @param policy how the wait grows
     * @param first the first wait
     * @param longest the longest wait
     * @param jitter a random time of up to this is added to an exponential wait
     * @param waits the waits of the series policy
     */
    record Rule(
            @Nullable Integer maxAttempts,
            @Nullable Backoff policy,
            @DefaultValue("200ms") Duration first,
            @DefaultValue("60s") Duration longest,
            @Nullable Duration jitter,
            @DefaultValue List<Duration> waits) {}

    /**
     * Breakers and limits.
     *
     * @param types limits of event types, by the type in brackets
     * @param listeners limits of listeners, by their names
     * @param tenants limits of tenants
     * @param eachTenant the limit of each tenant that has none of its own
     * @param breakers circuit breakers, by their names
     */
    record Protect(
            @DefaultValue Map<String, Bound> types,
            @DefaultValue Map<String, Bound> listeners,
            @DefaultValue Map<String, Bound> tenants,
            @Nullable Bound eachTenant,
            @DefaultValue Map<String, Breaker> breakers) {}

    /**
     * A limit, of which concurrency, rate or both are required.
     *
     * @param concurrency how many events run at a time, at least 1
     * @param rate how many events start per time, at least 1
     * @param per the time of the rate, 1ms to 1d
     * @param burst how many events may start at once after a quiet time, at least 1; by default as many as the rate
     */
    record Bound(
            @Nullable Integer concurrency,
            @Nullable Integer rate,
            @DefaultValue("1s") Duration per,
            @Nullable Integer burst) {}

    /**
     * A circuit breaker.
     *
     * @param types the event types it guards
     * @param listeners the listeners it guards
     * @param failureRate opens when at least this part of the calls failed
     * @param minimumCalls does not open before so many calls
     * @param windowCalls how many calls count
     * @param window how long a call counts
     * @param openFor how long it stays open before an event is tried
     * @param openOn names of exception classes that mean that the destination is down
     * @param ignore names of exception classes that say nothing about the destination
     */
    record Breaker(
            @DefaultValue Set<String> types,
            @DefaultValue Set<String> listeners,
            @DefaultValue("0.5") double failureRate,
            @DefaultValue("10") int minimumCalls,
            @DefaultValue("100") int windowCalls,
            @DefaultValue("60s") Duration window,
            @DefaultValue("5s") Duration openFor,
            @DefaultValue List<Class<? extends Throwable>> openOn,
            @DefaultValue List<Class<? extends Throwable>> ignore) {}

    /**
     * One node delivers, the others stand by.
     *
     * @param enabled whether only the leader among the nodes delivers
     * @param term how long a leader is sure after it last heard of the database, 100ms to 1m; at most half the poll interval
     */
    record SingleActive(
            @DefaultValue("false") boolean enabled,
            @DefaultValue("500ms") Duration term) {}
}
