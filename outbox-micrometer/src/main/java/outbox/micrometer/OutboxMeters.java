package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;
import outbox.admin.Backlog;
import outbox.spi.MetricsExporter;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The meters of one outbox table on one node. Pass the same object to the dispatcher, the poller and the writer
 * ({@link outbox.OutboxWriter#countedBy}) of the table.
 *
 * <p>The labels are the table, the event type as {@code topic}, the result, and configured names. Their number is
 * bounded: types beyond {@link Builder#maxTopics}, or longer than 160 characters, are counted as {@code other}.
 * Tenants, event ids and aggregates never become labels.
 *
 * <p>{@code docs/reference/metrics.md} lists all names. Thread-safe.
 */
public final class OutboxMeters implements MetricsExporter, AutoCloseable {

    private static final String TENANT_LIMIT = "tenant "; // prefix of tenant limits
    private static final List<String> BREAKER_STATES = List.of("closed", "open", "half_open");

    private final TableMeters meters;
    private final TopicMeters topics;
    private final int maxTopics;
    private final Counter hotEnqueued;
    private final Counter hotDropped;
    private final Counter coldEnqueued;
    private final Counter lostClaims;
    private final Counter stuckListeners;
    private final Counter markFailures;
    private final GaugeValue hotDepth;
    private final GaugeValue coldDepth;
    private final GaugeValue pollLag;
    private final GaugeValue workers;
    private final GaugeValue pauses;
    private final Counter purged;
    private final Counter purgeFailures;
    private final SinceLast sincePoll;
    private final SinceLast sincePurge;
    private final Map<String, Map<String, GaugeValue>> breakers = new ConcurrentHashMap<>(); // name → state → value
    private final Map<String, GaugeValue> limitsRunning = new ConcurrentHashMap<>();
    private final Map<String, GaugeValue> limitsWaiting = new ConcurrentHashMap<>();
    private final Map<String, JobMeters> jobs = new ConcurrentHashMap<>(); // by name

    private OutboxMeters(Builder builder) {
        meters = new TableMeters(builder.registry, builder.table);
        maxTopics = builder.maxTopics;
        topics = new TopicMeters(meters, maxTopics);
        hotEnqueued = meters.counter("outbox.hot.enqueued", "Events that went to a worker right after their commit");
        hotDropped = meters.counter("outbox.hot.dropped", "Events that found no room after their commit");
        coldEnqueued = meters.counter("outbox.cold.enqueued", "Events that a poller brought");
        lostClaims = meters.counter("outbox.lost.claims", "Outcomes and events that were dropped for a lost lease");
        stuckListeners = meters.counter("outbox.stuck.listeners", "Listeners that ignored the end of their time");
        markFailures = meters.counter("outbox.mark.failures", "Writes of outcomes that failed and are repeated");
        hotDepth = meters.gauge("outbox.queue.depth", "Events in memory that wait for a worker", "queue", "hot");
        coldDepth = meters.gauge("outbox.queue.depth", "Events in memory that wait for a worker", "queue", "cold");
        pollLag = meters.seconds("outbox.poll.lag", "Age of the oldest event that the last poll found");
        workers = meters.gauge("outbox.workers.live", "Workers that are able to take events");
        pauses = meters.gauge("outbox.pauses", "Pauses in force");
        pollLag.set(0);
        purged = meters.counter("outbox.purged", "Events that purges of this node deleted");
        purgeFailures = meters.counter("outbox.purge.failures", "Purges that failed, or a part of them");
        sincePoll = new SinceLast(meters, "outbox.since.poll", "Since a poller last looked at the table");
        sincePurge = new SinceLast(meters, "outbox.since.purge", "Since a batch of the purge last succeeded");
        new SampledMeters(meters, builder.table, builder.sampleEvery, builder.sampleTimeout)
                .register(builder.backlog, builder.dead);
        BooleanSupplier leader = builder.relayLeader;
        if (leader != null) {
            meters.gauge(
                    "outbox.relay.leader",
                    "Whether this node is the active relay of the table",
                    leader,
                    asked -> asked.getAsBoolean() ? 1 : 0);
        }
    }

    /**
     * The meters of a table.
     *
     * @param table the value of the label {@code table}; one object per table and registry
     */
    public static Builder builder(MeterRegistry registry, String table) {
        return new Builder(registry, table);
    }

    @Override
    public void recordEnqueued(String eventType) {
        topics.of(eventType).enqueued().increment();
    }

    @Override
    public void recordDispatch(String eventType, boolean delivered, Duration took) {
        topics.of(eventType).of(delivered).add(took);
    }

    @Override
    public void recordDead(@Nullable String eventType) {
        topics.of(eventType).dead().increment();
    }

    @Override
    public void incrementHotEnqueued() {
        hotEnqueued.increment();
    }

    @Override
    public void incrementHotDropped() {
        hotDropped.increment();
    }

    @Override
    public void incrementColdEnqueued() {
        coldEnqueued.increment();
    }

    /** No effect: {@link #recordDispatch} has more details. */
    @Override
    public void incrementDispatchSuccess() {}

    /** No effect: {@link #recordDispatch} has more details. */
    @Override
    public void incrementDispatchFailure() {}

    /** No effect: {@link #recordDead} has more details. */
    @Override
    public void incrementDispatchDead() {}

    @Override
    public void incrementLostClaims() {
        lostClaims.increment();
    }

    @Override
    public void incrementStuckListeners() {
        stuckListeners.increment();
    }

    @Override
    public void incrementMarkFailures() {
        markFailures.increment();
    }

    @Override
    public void recordQueueDepths(int hot, int cold) {
        hotDepth.set(hot);
        coldDepth.set(cold);
    }

    @Override
    public void recordOldestLagMs(long lagMs) {
        pollLag.set(lagMs / 1000.0);
    }

    @Override
    public void recordLiveWorkers(int live) {
        workers.set(live);
    }

    @Override
    public void recordPauses(int inForce) {
        pauses.set(inForce);
    }

    @Override
    public void recordBreaker(String breaker, String state) {
        if (isBeyond(breakers, breaker)) {
            return;
        }
        String now = state.toLowerCase(Locale.ROOT);
        breakers.computeIfAbsent(breaker, this::newBreaker)
                .forEach((name, value) -> value.set(name.equals(now) ? 1 : 0));
    }

    /** Whether the label has too many values, or this value is too long. */
    private boolean isBeyond(Map<String, ?> known, String name) {
        return !known.containsKey(name) && (known.size() >= maxTopics || !TableMeters.isLabel(name));
    }

    private Map<String, GaugeValue> newBreaker(String breaker) {
        Map<String, GaugeValue> states = new ConcurrentHashMap<>();
        for (String state : BREAKER_STATES) {
            states.put(
                    state,
                    meters.gauge(
                            "outbox.breaker.state",
                            "1 for the state that a circuit breaker is in",
                            "breaker",
                            breaker,
                            "state",
                            state));
        }
        return states;
    }

    /** Ignores tenant limits, because their names would be an unbounded label. */
    @Override
    public void recordLimit(String limit, int running, int waiting) {
        if (limit.startsWith(TENANT_LIMIT) || isBeyond(limitsRunning, limit)) {
            return;
        }
        limitsRunning
                .computeIfAbsent(
                        limit, name -> meters.gauge("outbox.limit.running", "Events under a limit", "limit", name))
                .set(running);
        limitsWaiting
                .computeIfAbsent(
                        limit,
                        name -> meters.gauge("outbox.limit.waiting", "Events that wait for a limit", "limit", name))
                .set(waiting);
    }

    @Override
    public void recordReconciled(String job, int events) {
        JobMeters known = jobMeters(job);
        if (known != null) {
            known.fixed().increment(events);
        }
    }

    @Override
    public void recordReconcileFailure(String job) {
        JobMeters known = jobMeters(job);
        if (known != null) {
            known.failed().increment();
        }
    }

    @Override
    public void recordPoll() {
        sincePoll.happened();
    }

    @Override
    public void recordPurged(int events) {
        purged.increment(events);
        sincePurge.happened();
    }

    @Override
    public void recordPurgeFailure() {
        purgeFailures.increment();
    }

    /**
     * Returns the meters of a job, or null beyond the limit. All meters of a job are registered together, so that
     * each starts at zero.
     */
    private @Nullable JobMeters jobMeters(String job) {
        if (isBeyond(jobs, job)) {
            return null;
        }
        return jobs.computeIfAbsent(
                job,
                name -> new JobMeters(
                        meters.counter(
                                "reconcile.fixed", "Events that a job wrote because they were missing", "job", name),
                        meters.counter("reconcile.failed", "Runs of a job that failed", "job", name)));
    }

    /** The meters of a reconcile job. */
    private record JobMeters(Counter fixed, Counter failed) {}

    /** Removes the meters from the registry. Later values are ignored. The registry stays open. */
    @Override
    public void close() {
        meters.close();
    }

    /** Builds the meters. Every setter refuses a wrong value. */
    public static final class Builder {

        private static final Duration LONGEST = Duration.ofHours(1);

        private final MeterRegistry registry;
        private final String table;
        private int maxTopics = 100;
        private @Nullable Supplier<Backlog> backlog;
        private @Nullable LongSupplier dead;
        private Duration sampleEvery = Duration.ofSeconds(10);
        private Duration sampleTimeout = Duration.ofSeconds(2);
        private @Nullable BooleanSupplier relayLeader;

        private Builder(MeterRegistry registry, String table) {
            this.registry = Objects.requireNonNull(registry, "registry");
            this.table = Objects.requireNonNull(table, "table");
            if (table.isBlank()) {
                throw new IllegalArgumentException("table must not be blank: it is the label of every meter");
            }
        }

        /**
         * The maximum number of event types with their own series, 1 to 10,000; default 100. Further types are
         * counted as {@code other}. The same limit applies to breakers, limits and reconcile jobs.
         */
        public Builder maxTopics(int maxTopics) {
            if (maxTopics < 1 || maxTopics > 10_000) {
                throw new IllegalArgumentException("maxTopics must be between 1 and 10000: " + maxTopics);
            }
            this.maxTopics = maxTopics;
            return this;
        }

        /**
         * Adds the gauges of the table, usually from {@link outbox.admin.OutboxAdmin#backlog}. The table is read on
         * demand, when the gauges are scraped. Default: no such gauges. Every node would report the same numbers, so
         * one node per table is enough.
         */
        public Builder backlog(Supplier<Backlog> backlog) {
            this.backlog = Objects.requireNonNull(backlog, "backlog");
            return this;
        }

        /**
         * Adds the gauge of dead events, usually from {@link outbox.admin.OutboxAdmin#deadEvents}. It is read at most
         * once per six intervals of {@link #sampleEvery}, by default once per minute. Default: no such gauge.
         */
        public Builder dead(LongSupplier dead) {
            this.dead = Objects.requireNonNull(dead, "dead");
            return this;
        }

        /** The minimum interval between reads of the table; at most 1 hour, default 10 s. */
        public Builder sampleEvery(Duration sampleEvery) {
            this.sampleEvery = requireSpan("sampleEvery", sampleEvery);
            return this;
        }

        /**
         * How long a scrape waits for the table. After that it reports the last sample, or NaN if that is too old. At
         * most 1 hour, default 2 s.
         */
        public Builder sampleTimeout(Duration sampleTimeout) {
            this.sampleTimeout = requireSpan("sampleTimeout", sampleTimeout);
            return this;
        }

        /** Adds a gauge that shows whether this node is the active relay of the table. Default: no such gauge. */
        public Builder relayLeader(BooleanSupplier isLeader) {
            this.relayLeader = Objects.requireNonNull(isLeader, "isLeader");
            return this;
        }

        /**
         * Registers the meters.
         *
         * @throws IllegalArgumentException if the registry has meters of this table already
         */
        public OutboxMeters build() {
            if (registry.find("outbox.lost.claims").tag("table", table).meter() != null) {
                throw new IllegalArgumentException("The registry already has the meters of table " + table
                        + ". Share one OutboxMeters between dispatcher, poller and writer, or close it first.");
            }
            return new OutboxMeters(this);
        }

        private static Duration requireSpan(String setting, Duration value) {
            if (value.isZero() || value.isNegative() || value.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(setting + " must be positive and at most an hour: " + value);
            }
            return value;
        }
    }
}
