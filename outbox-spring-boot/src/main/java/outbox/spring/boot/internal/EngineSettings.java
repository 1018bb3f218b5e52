package outbox.spring.boot.internal;

import org.springframework.util.unit.DataSize;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.RetryRules;
import outbox.jdbc.Capability;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/** The settings of one outbox, derived from its properties. The constructor checks all of them. */
public final class EngineSettings {

    // after the drain: time to interrupt listeners and write outcomes
    private static final Duration CLOSE = Duration.ofSeconds(3);
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration CENTURY = Duration.ofDays(36_500);
    private static final Duration MILLISECOND = Duration.ofMillis(1);

    private final PropertyCheck check;
    private final OutboxProperties properties;
    private final boolean virtualThreads;
    private final String table;
    private final Ordering ordering;

    /**
     * Checks all properties.
     *
     * @param prefix the prefix of the properties, for error messages
     * @param virtualThreads whether the application has enabled virtual threads
     */
    EngineSettings(String prefix, OutboxProperties properties, boolean virtualThreads) {
        this.check = PropertyCheck.of(prefix);
        this.properties = properties;
        Boolean asked = properties.dispatcher().virtualThreads();
        this.virtualThreads = asked == null ? virtualThreads : asked;
        if (this.virtualThreads && Runtime.version().feature() < 21) {
            throw check.refuse("dispatcher.virtual-threads", true, "false before Java 21");
        }
        this.table = properties.layout().table(check, properties.table());
        this.ordering = ordering(check.at("ordering"), properties.ordering());
        if (!properties.named().isEmpty()) {
            throw check.refuse("named", properties.named().keySet(), "left out: an outbox has no others in it");
        }
        checkTimes();
        applyTo(OutboxDispatcher.builder());
        applyTo(OutboxPoller.builder());
        applyTo(OutboxPurge.builder());
        RetrySettings.policy(check.at("retry"), properties.retry());
        RetrySettings.addRules(check.at("retry"), properties.retry(), RetryRules.builder());
        ProtectionSettings.addTo(Protection.builder(), check.at("protection"), properties.protection());
        maxAttempts();
        checkLayout();
    }

    private void checkTimes() {
        Duration shutdown = check.between("shutdown-timeout", properties.shutdownTimeout(), CLOSE, HOUR);
        check.between(
                "dispatcher.drain-timeout",
                properties.dispatcher().drainTimeout(),
                Duration.ZERO,
                shutdown.minus(CLOSE));
        check.between("lease", properties.lease(), SECOND, PropertyCheck.YEAR);
        if (properties.databaseTimeout() != null) {
            check.between(
                    "database-timeout",
                    properties.databaseTimeout(),
                    MILLISECOND,
                    properties.lease().dividedBy(2));
        }
        OutboxProperties.SingleActive singleActive = properties.singleActive();
        check.between("single-active.term", singleActive.term(), Duration.ofMillis(100), Duration.ofMinutes(1));
        if (singleActive.enabled()
                && singleActive
                                .term()
                                .multipliedBy(2)
                                .compareTo(properties.poller().interval())
                        > 0) {
            throw check.refuse(
                    "single-active.term",
                    singleActive.term().toMillis() + "ms",
                    "at most half of " + check.name("poller.interval"));
        }
    }

    /** Tables of other layouts support neither our ordering nor our capabilities. */
    private void checkLayout() {
        if (properties.layout() == Layout.OUTBOX) {
            return;
        }
        if (!properties.capabilities().isEmpty()) {
            throw check.refuse("capabilities", properties.capabilities(), "left out with another layout than outbox");
        }
        if (ordering.isOn()) {
            throw check.refuse("ordering.per-aggregate", true, "false with another layout than outbox");
        }
        if (properties.layout() == Layout.TEXT_STATUS
                && !properties.singleActive().enabled()) {
            throw check.refuse(
                    "single-active.enabled", false, "true with layout text-status: its table has no place for claims");
        }
    }

    private static Ordering ordering(PropertyCheck check, OutboxProperties.Order order) {
        if (!order.perAggregate()) {
            if (!order.onlyTypes().isEmpty() || !order.exceptTypes().isEmpty()) {
                throw check.refuse("per-aggregate", false, "true if only-types or except-types are set");
            }
            return Ordering.off();
        }
        Ordering ordering = Ordering.perAggregate().whenDead(order.whenDead());
        if (order.onlyTypes().isEmpty()) {
            return order.exceptTypes().isEmpty() ? ordering : ordering.exceptTypes(order.exceptTypes());
        }
        if (!order.exceptTypes().isEmpty()) {
            throw check.refuse("except-types", order.exceptTypes(), "left out if only-types is set");
        }
        return ordering.onlyTypes(order.onlyTypes());
    }

    /**
     * Returns the number of failed attempts after which an event is dead. Tables of other layouts recognize dead
     * events by this number, so all relays of such a table must use the same number.
     */
    int maxAttempts() {
        int otherwise = properties.layout() == Layout.OUTBOX
                ? 10
                : properties.layout().of(table).maxAttempts();
        return RetrySettings.maxAttempts(check.at("retry"), properties.retry(), otherwise);
    }

    public PropertyCheck check() {
        return check;
    }

    public OutboxProperties properties() {
        return properties;
    }

    String table() {
        return table;
    }

    /** Returns the configured capabilities and those that other settings need. */
    Set<Capability> capabilities() {
        Set<Capability> all = EnumSet.noneOf(Capability.class);
        all.addAll(properties.capabilities());
        if (ordering.isOn()) {
            all.add(Capability.ORDER);
        }
        return all;
    }

    /** Applies all settings except connections, store, listeners and retries. */
    void applyTo(OutboxDispatcher.Builder builder) {
        OutboxProperties.Dispatcher settings = properties.dispatcher();
        PropertyCheck its = check.at("dispatcher");
        builder.workerCount(its.between("workers", settings.workers(), 0, 10_000))
                .virtualThreads(virtualThreads)
                .hotQueueCapacity(its.between("hot-queue-capacity", settings.hotQueueCapacity(), 1, Integer.MAX_VALUE))
                .coldQueueCapacity(
                        its.between("cold-queue-capacity", settings.coldQueueCapacity(), 1, Integer.MAX_VALUE))
                .drainTimeoutMs(settings.drainTimeout().toMillis())
                .drainQueues(false) // queued events are left to the next start; running listeners need the time
                .leaseDuration(properties.lease())
                .listenerTimeLimit(its.positive("listener-time-limit", settings.listenerTimeLimit()))
                .keepAttempts(its.between("keep-attempts", settings.keepAttempts(), 0, 1000))
                .deleteDone(settings.deleteDone())
                .ordering(ordering);
        DataSize most = settings.maxQueuedBytes();
        if (most != null) {
            builder.maxQueuedBytes(its.between("max-queued-bytes", most.toBytes(), 1, Long.MAX_VALUE));
        }
        Duration untakenLimit = settings.untakenLimit();
        if (untakenLimit != null) {
            builder.takeOnlyKnown(its.positive("untaken-limit", untakenLimit));
        }
        Duration databaseTimeout = properties.databaseTimeout();
        if (databaseTimeout != null) {
            builder.databaseTimeout(databaseTimeout);
        }
        String ownerId = properties.ownerId();
        if (ownerId != null) {
            builder.ownerId(check.notBlank("owner-id", ownerId));
        }
    }

    void applyTo(OutboxPoller.Builder builder) {
        OutboxProperties.Poller settings = properties.poller();
        PropertyCheck its = check.at("poller");
        builder.intervalMs(its.positive("interval", settings.interval()).toMillis())
                .skipRecent(its.between("skip-recent", settings.skipRecent(), Duration.ZERO, PropertyCheck.YEAR))
                .lockTimeout(properties.lease())
                .ownerId(properties.ownerId());
        Integer batchSize = settings.batchSize();
        if (batchSize != null) {
            builder.batchSize(its.between("batch-size", batchSize, 1, Integer.MAX_VALUE));
        }
        Duration databaseTimeout = properties.databaseTimeout();
        if (databaseTimeout != null) {
            builder.databaseTimeout(databaseTimeout);
        }
    }

    void applyTo(OutboxPurge.Builder builder) {
        OutboxProperties.Purge settings = properties.purge();
        PropertyCheck its = check.at("purge");
        builder.retention(its.between("retention", settings.retention(), Duration.ZERO, CENTURY))
                .batchSize(its.between("batch-size", settings.batchSize(), 1, 10_000))
                .interval(its.between("interval", settings.interval(), MILLISECOND, CENTURY));
        Duration deadRetention = settings.deadRetention();
        if (deadRetention != null) {
            builder.deadRetention(its.between("dead-retention", deadRetention, MILLISECOND, CENTURY));
        }
    }
}
