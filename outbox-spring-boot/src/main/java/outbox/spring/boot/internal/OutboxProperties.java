package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import outbox.jdbc.Capability;
import outbox.order.Ordering.WhenDead;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Settings of the single outbox of an application, or, under {@code named}, of each of several outboxes.
 *
 * @param enabled whether there is any outbox, and any bean of this library; for a named outbox, whether
 *     that outbox exists
 * @param named several outboxes by name, each with the same keys as the single one; the single one then does not
 *     exist, and its keys must not be set
 * @param role what this process does: both, writer (another process delivers) or relay (other processes write)
 * @param dataSource name of the DataSource bean; by default the only or primary one
 * @param transactionManager name of the transaction manager bean; by default the one of the data source
 * @param table name of the table, with an optional schema; by default outbox_event
 * @param layout column layout of the table: outbox (our own), module, or text-status
 * @param capabilities features that the table must support beyond the plain one: order, keys, priority, deadlines,
 *     pauses, attempts, inbox, reconcile. The start fails if one is missing
 * @param ownerId name of this node in the claims of events; by default host and process
 * @param lease how long a claim of an event lasts without renewal before another node may claim it, 1s to a year;
 *     must be the same on all nodes
 * @param databaseTimeout how long to wait for a response of the database before another connection is tried, at most
 *     half the lease; by default 5s
 * @param shutdownTimeout how long a shutdown waits for running work, 3s to 1h; must be
 *     shorter than spring.lifecycle.timeout-per-shutdown-phase
 */
@ConfigurationProperties("outbox")
public record OutboxProperties(
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

    /**
     * Settings of the tables.
     *
     * @param initializeSchema when the tables are created at the start: embedded (only databases in memory), always
     *     or never
     * @param checkSchema whether the start fails if the table is missing or does not support the capabilities
     */
    public record Jdbc(
            @DefaultValue("embedded") SchemaInitialization initializeSchema,
            @DefaultValue("true") boolean checkSchema) {}

    /**
     * Settings of the writer.
     *
     * @param gathering whether the events of a transaction are collected and stored together before its commit
     * @param refuseDuplicates whether a write fails if another pending event has the same key; otherwise the write
     *     is skipped
     */
    public record Writer(
            @DefaultValue("false") boolean gathering,
            @DefaultValue("false") boolean refuseDuplicates) {}

    /**
     * Settings of the queues and workers.
     *
     * @param workers how many events are processed at the same time, 0 to 10000
     * @param virtualThreads whether workers are virtual threads, which needs Java 21; by default the
     *     value of spring.threads.virtual.enabled
     * @param hotQueueCapacity how many events can wait between their commit and a worker, at least 1; further events
     *     are left to the poller
     * @param coldQueueCapacity how many events can wait between the poller and a worker, at least 1
     * @param maxQueuedBytes how many bytes of payload may be held in memory, at least 1B; by default 64MB, at most a
     *     sixteenth of the heap
     * @param drainTimeout how long a shutdown lets listeners finish before it interrupts them, from 0; must be
     *     shorter than outbox.shutdown-timeout by at least 3s
     * @param listenerTimeLimit how long a listener may run before it is interrupted and its attempt counts as
     *     failed, 1ms to a year
     * @param keepAttempts how many of the last attempts the history of an event contains, 0 to 1000; needs the
     *     capability attempts
     * @param deleteDone whether delivered events are deleted immediately instead of being kept until a purge
     * @param untakenLimit if set, events without a listener on this node are left to other nodes, and become dead
     *     when they are overdue for this time, 1ms to a year; by default they become dead immediately
     */
    public record Dispatcher(
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
     * Settings of the poller, the loop that claims due events.
     *
     * @param interval how long the poller waits while there is nothing to do, 1ms to a year
     * @param batchSize the maximum number of events of a poll, at least 1; by default 50, and more while there
     *     is a backlog
     * @param skipRecent the poller skips events that were stored less than this time ago, 0 to a year
     */
    public record Poller(
            @DefaultValue("5s") Duration interval,
            @Nullable Integer batchSize,
            @DefaultValue("0") Duration skipRecent) {}

    /**
     * Settings of the purge, which deletes old events.
     *
     * @param enabled whether delivered events are deleted after their retention
     * @param retention how long delivered events are kept, 0 to 36500d
     * @param deadRetention how long dead events are kept, 1ms to 36500d; by default for ever
     * @param batchSize the maximum number of events that one transaction deletes, 1 to 10000
     * @param interval how long the purge waits after a run, 1ms to 36500d
     */
    public record Purge(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("7d") Duration retention,
            @Nullable Duration deadRetention,
            @DefaultValue("100") int batchSize,
            @DefaultValue("10m") Duration interval) {}

    /**
     * Settings of ordered delivery.
     *
     * @param perAggregate whether events of an aggregate are delivered in order; must be the same on all nodes
     * @param onlyTypes the event types that are ordered; by default all
     * @param exceptTypes the event types that are not ordered; by default none
     * @param whenDead what happens to an aggregate with a dead event: block, skip or park
     */
    public record Order(
            @DefaultValue("false") boolean perAggregate,
            @DefaultValue Set<String> onlyTypes,
            @DefaultValue Set<String> exceptTypes,
            @DefaultValue("block") WhenDead whenDead) {}

    /** How the delay after a failed attempt grows. */
    public enum Backoff {
        EXPONENTIAL,
        FIXED,
        LINEAR,
        SERIES
    }

    /**
     * Settings of retries.
     *
     * @param maxAttempts after how many failed attempts an event is dead, at least 1; by default 10, with another
     *     layout than outbox 25
     * @param policy how the delay grows: exponential, fixed, linear or series
     * @param first the first delay, 1ms to a year; for the linear policy also the step
     * @param longest the longest delay, 1ms to a year, not shorter than the first
     * @param jitter the maximum random time that is added to an exponential delay, 1ms to a year; by default delays
     *     are spread by half
     * @param waits the delays of the series policy, in order; the last one repeats
     * @param neverOn names of exception classes after which an event is dead immediately
     * @param types rules for event types, by the type in brackets
     * @param listeners rules for listeners, by their names
     */
    public record Retry(
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
     * A rule for some events. A setting that is absent is taken from the settings for all events.
     *
     * @param maxAttempts after how many failed attempts an event is dead
     * @param policy how the delay grows
     * @param first the first delay
     * @param longest the longest delay
     * @param jitter the maximum random time that is added to an exponential delay
     * @param waits the delays of the series policy
     */
    public record Rule(
            @Nullable Integer maxAttempts,
            @Nullable Backoff policy,
            @DefaultValue("200ms") Duration first,
            @DefaultValue("60s") Duration longest,
            @Nullable Duration jitter,
            @DefaultValue List<Duration> waits) {}

    /**
     * Settings of circuit breakers and limits.
     *
     * @param types limits of event types, by the type in brackets
     * @param listeners limits of listeners, by their names
     * @param tenants limits of tenants
     * @param eachTenant the limit of each tenant that has no limit of its own
     * @param breakers circuit breakers, by their names
     */
    public record Protect(
            @DefaultValue Map<String, Bound> types,
            @DefaultValue Map<String, Bound> listeners,
            @DefaultValue Map<String, Bound> tenants,
            @Nullable Bound eachTenant,
            @DefaultValue Map<String, Breaker> breakers) {}

    /**
     * A limit. It needs a concurrency, a rate, or both.
     *
     * @param concurrency how many events are processed at the same time, at least 1
     * @param rate how many events start per period, at least 1
     * @param per the period of the rate, 1ms to 1d
     * @param burst how many events may start at once after an idle time, at least 1; by default equal to the rate
     */
    public record Bound(
            @Nullable Integer concurrency,
            @Nullable Integer rate,
            @DefaultValue("1s") Duration per,
            @Nullable Integer burst) {}

    /**
     * A circuit breaker.
     *
     * @param types the event types that it guards
     * @param listeners the listeners that it guards
     * @param failureRate the breaker opens when at least this share of the calls failed
     * @param minimumCalls the breaker does not open before this number of calls
     * @param windowCalls how many of the last calls are counted
     * @param window how long a call is counted
     * @param openFor how long the breaker stays open before it lets an event through as a test
     * @param openOn names of exception classes that mean that the destination is down
     * @param ignore names of exception classes that say nothing about the destination
     */
    public record Breaker(
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
     * Settings of a single active node: one node delivers, and the others stand by.
     *
     * @param enabled whether only the leader among the nodes delivers
     * @param term how long the leader may act after its last successful contact with the database, 100ms to 1m; at
     *     most half the poll interval
     */
    public record SingleActive(
            @DefaultValue("false") boolean enabled,
            @DefaultValue("500ms") Duration term) {}
}
