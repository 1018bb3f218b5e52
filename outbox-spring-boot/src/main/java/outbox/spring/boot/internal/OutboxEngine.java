package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import outbox.AfterCommitHook;
import outbox.OutboxWriter;
import outbox.WriteInterceptor;
import outbox.admin.EventAdministration;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.RetryPolicy;
import outbox.dispatch.RetryRules;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.LayoutFeature;
import outbox.jdbc.TableName;
import outbox.order.Ordering.WhenDead;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.runtime.OutboxRuntime;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.TxContext;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;
import outbox.spring.SpringTxContext;
import outbox.spring.boot.OutboxCustomizer;
import outbox.spring.boot.OutboxInstance;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;

/**
 * One outbox: its parts, which are created with its bean, and its {@link OutboxRuntime}, which is created at each
 * start of the application. The dispatcher is created that late because its listeners are beans, and some of them
 * write events themselves.
 */
final class OutboxEngine implements OutboxInstance {

    private static final Logger LOG = SafeLogger.of(OutboxEngine.class);
    private static final Duration UNTIL_ALL_END = Duration.ofDays(1); // each part has its own, shorter limit

    private final String name;
    private final EngineSettings settings;
    private final OutboxBeans beans;
    private final List<OutboxCustomizer> customizers;
    private final HotPath hotPath = new HotPath();
    private final DataSource dataSource;
    private final @Nullable Leadership leadership;
    private final EventStore store;
    private final ConnectionProvider connections;
    private final TxContext txContext;
    private final OutboxListeners listeners;
    private final OutboxAdmin admin;
    private final @Nullable OutboxWriter writer;
    private final TransactionManagers transactions;
    private final AtomicBoolean stopping = new AtomicBoolean();
    private boolean filled; // lifecycle thread only
    // written by the lifecycle thread, read by any thread; null if this process only writes
    private volatile @Nullable OutboxRuntime runtime;

    OutboxEngine(String name, EngineSettings settings, ListableBeanFactory factory) {
        this.name = name;
        this.settings = settings;
        this.beans = new OutboxBeans(factory);
        this.transactions = new TransactionManagers(factory);
        this.customizers = beans.all(OutboxCustomizer.class, name);
        this.dataSource = new DataSources(factory).of(name, settings);
        this.leadership = electable();
        EventStore given = beans.own(EventStore.class, name);
        this.store = customized(given == null ? new Tables(settings, dataSource, leadership).prepare() : given);
        nameTable();
        this.connections =
                orElse(beans.own(ConnectionProvider.class, name), new DataSourceConnectionProvider(dataSource));
        this.txContext = orElse(beans.own(TxContext.class, name), new SpringTxContext(dataSource));
        this.listeners = orElse(beans.own(OutboxListeners.class, name), new OutboxListeners());
        this.admin = new OutboxAdmin(connections, store);
        this.writer = settings.properties().role().writes() ? newWriter() : null;
    }

    private static <T> T orElse(@Nullable T given, T other) {
        return given == null ? other : given;
    }

    private EventStore customized(EventStore plain) {
        EventStore customized = plain;
        for (OutboxCustomizer customizer : customizers) {
            customized = Objects.requireNonNull(customizer.store(name, customized), "store");
        }
        return customized;
    }

    /**
     * Determines one table name, independent of the spelling in the properties. If the database cannot be reached,
     * the configured spelling is used.
     */
    private void nameTable() {
        for (OutboxCustomizer customizer : customizers) {
            if (customizer instanceof NeedsTableName needing) {
                try (Connection connection = dataSource.getConnection()) {
                    needing.table(name, new TableName(settings.table()).qualified(connection));
                } catch (SQLException | IllegalArgumentException e) {
                    LOG.log(Level.DEBUG, "Cannot find out the schema of table " + settings.table(), e);
                }
            }
        }
    }

    private @Nullable Leadership electable() {
        Leadership given = beans.own(Leadership.class, name);
        OutboxProperties.SingleActive singleActive = settings.properties().singleActive();
        if (given != null || !singleActive.enabled()) {
            return given;
        }
        return new RenewedLeadership(dataSource, settings.table(), singleActive.term());
    }

    private OutboxWriter newWriter() {
        OutboxProperties.Writer how = settings.properties().writer();
        boolean hot = settings.properties().role().relays();
        OutboxWriter made = new OutboxWriter(txContext, store, hot ? hotPath : null);
        if (how.gathering()) {
            made = made.gathering();
        }
        if (how.refuseDuplicates()) {
            made = made.refusingDuplicates();
        }
        for (OutboxCustomizer customizer : customizers) {
            made = Objects.requireNonNull(customizer.writer(name, made), "writer");
        }
        // run inside the tracing interceptors
        for (WriteInterceptor interceptor : beans.all(WriteInterceptor.class, name)) {
            made = made.interceptedBy(interceptor);
        }
        return made;
    }

    boolean relays() {
        return settings.properties().role().relays();
    }

    /** Creates and starts the parts that deliver. Collects the listeners before the first start. */
    void start() {
        stopping.set(false);
        if (writer != null && txContext instanceof SpringTxContext context) {
            transactions.tell(transactions.require(name, settings, dataSource), context);
        }
        if (!relays()) {
            return; // a process that only writes needs no listeners, and some listeners open connections
        }
        if (!filled) {
            beans.all(ListenerSource.class, name).forEach(source -> source.addTo(name, listeners));
            filled = true;
        }
        OutboxRuntime parts = parts();
        runtime = parts;
        if (startsByItself()) {
            hotPath.leadTo(hook(parts));
            parts.start();
        }
    }

    /**
     * If the table has no columns for claims, no event can be inserted with a lease. The hook then only
     * wakes the poller.
     */
    private AfterCommitHook hook(OutboxRuntime parts) {
        boolean leases = settings.properties().layout().of(settings.table()).has(LayoutFeature.BORN_LEASED);
        return leases ? parts.hook() : event -> parts.poller().wake();
    }

    private boolean startsByItself() {
        return customizers.stream().allMatch(customizer -> customizer.startsByItself(name));
    }

    private OutboxRuntime parts() {
        OutboxRuntime.Builder parts = OutboxRuntime.builder(connections, store)
                .leadership(leadership)
                .dispatcher(this::configure)
                .poller(this::configure);
        if (settings.properties().purge().enabled()
                && store.capability(EventAdministration.class).isPresent()) {
            parts.purge(this::configure);
        }
        return parts.build();
    }

    private void configure(OutboxDispatcher.Builder builder) {
        builder.maxAttempts(settings.maxAttempts())
                .retryPolicy(orElse(
                        beans.one(RetryPolicy.class, name),
                        RetrySettings.policy(
                                settings.check().at("retry"),
                                settings.properties().retry())));
        settings.applyTo(builder);
        listeners.configure(builder, retryRules(), protection());
        customizers.forEach(customizer -> customizer.dispatcher(name, builder));
        // The last interceptors are the innermost. A refusal by one of them is recorded on the span of
        // a tracing interceptor.
        builder.interceptors(beans.all(EventInterceptor.class, name));
    }

    private void configure(OutboxPoller.Builder builder) {
        settings.applyTo(builder);
        customizers.forEach(customizer -> customizer.poller(name, builder));
    }

    private void configure(OutboxPurge.Builder builder) {
        settings.applyTo(builder);
        customizers.forEach(customizer -> customizer.purge(name, builder));
    }

    private RetryRules retryRules() {
        RetryRules given = beans.one(RetryRules.class, name);
        if (given != null) {
            return given;
        }
        RetryRules.Builder rules = RetryRules.builder();
        RetrySettings.addRules(
                settings.check().at("retry"), settings.properties().retry(), rules);
        return rules.build();
    }

    private Protection protection() {
        Protection given = beans.one(Protection.class, name);
        if (given != null) {
            return given;
        }
        Protection.Builder protection = Protection.builder();
        ProtectionSettings.addTo(
                protection,
                settings.check().at("protection"),
                settings.properties().protection());
        return protection.build();
    }

    /**
     * Claims no more events, lets running deliveries finish, writes their outcomes, and then ends the leadership.
     * The parts stop at the same time: if the database does not reply, each part waits for its own time limit. Has
     * no effect if the stop has already begun.
     */
    void stop() {
        if (!stopping.compareAndSet(false, true)) {
            return;
        }
        OutboxRuntime parts = runtime;
        if (parts != null) {
            stopAtTheSameTime(parts);
            parts.close(); // ends the leadership last: until now no other node may deliver
        } else if (leadership != null) {
            leadership.close();
        }
    }

    private void stopAtTheSameTime(OutboxRuntime parts) {
        SideBySide stops = new SideBySide();
        // the dispatcher refuses events that the poller still claims
        stops.begin(name + "-poller", parts.poller()::close);
        OutboxPurge purge = parts.purge();
        if (purge != null) {
            stops.begin(name + "-purge", purge::close);
        }
        stops.begin(name + "-dispatcher", parts.dispatcher()::close);
        stops.await(UNTIL_ALL_END);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String table() {
        return settings.table();
    }

    @Override
    public DataSource dataSource() {
        return dataSource;
    }

    @Override
    public ConnectionProvider connections() {
        return connections;
    }

    @Override
    public EventStore store() {
        return store;
    }

    @Override
    public TxContext txContext() {
        return txContext;
    }

    @Override
    public OutboxListeners listeners() {
        return listeners;
    }

    @Override
    public OutboxAdmin admin() {
        return admin;
    }

    @Override
    public @Nullable OutboxWriter writer() {
        return writer;
    }

    @Override
    public @Nullable OutboxDispatcher dispatcher() {
        OutboxRuntime parts = runtime;
        return parts == null ? null : parts.dispatcher();
    }

    @Override
    public @Nullable OutboxPoller poller() {
        OutboxRuntime parts = runtime;
        return parts == null ? null : parts.poller();
    }

    @Override
    public @Nullable Leadership leadership() {
        return leadership;
    }

    @Override
    public boolean blocksBehindDead() {
        OutboxProperties.Order order = settings.properties().ordering();
        return order.perAggregate() && order.whenDead() == WhenDead.BLOCK;
    }

    @Override
    public String toString() {
        return "outbox " + name + " (table " + table() + ")";
    }
}
