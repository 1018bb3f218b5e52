package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import outbox.AfterCommitHook;
import outbox.OutboxWriter;
import outbox.WriteInterceptor;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.ProtectionStatus;
import outbox.dispatch.RetryPolicy;
import outbox.dispatch.RetryRules;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.LayoutFeature;
import outbox.jdbc.TableName;
import outbox.order.WhenDead;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.spi.AdminEventStore;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.SafeLogger;
import outbox.spi.TxContext;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;
import outbox.spring.SpringTxContext;

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
 * One outbox: its parts, made with its bean, and what runs while the application does, made at each start. A dispatcher comes that late because its listeners are beans, some of which
 * write events themselves.
 */
final class OutboxEngine {

    private static final Logger LOG = SafeLogger.of(OutboxEngine.class);
    private static final Duration UNTIL_ALL_END = Duration.ofDays(1); // each has a limit of its own

    private final String name;
    private final EngineSettings settings;
    private final OutboxBeans beans;
    private final List<OutboxCustomizer> customizers;
    private final HotPath hotPath = new HotPath();
    private final OutboxInstance instance;
    private final TransactionManagers transactions;
    private final AtomicBoolean stopping = new AtomicBoolean();
    private boolean filled; // the lifecycle's thread only, as what follows
    private @Nullable OutboxPurge purge;

    OutboxEngine(String name, EngineSettings settings, ListableBeanFactory factory) {
        this.name = name;
        this.settings = settings;
        this.beans = new OutboxBeans(factory);
        this.transactions = new TransactionManagers(factory);
        this.customizers = beans.all(OutboxCustomizer.class, name);
        DataSource dataSource = new DataSources(factory).of(name, settings);
        Leadership leadership = leadership(dataSource);
        Tables tables = new Tables(settings, dataSource, leadership);
        EventStore given = beans.own(EventStore.class, name);
        EventStore store = customized(given == null ? tables.prepare() : given);
        nameTable(dataSource);
        ConnectionProvider connections =
                orElse(beans.own(ConnectionProvider.class, name), new DataSourceConnectionProvider(dataSource));
        TxContext txContext = orElse(beans.own(TxContext.class, name), new SpringTxContext(dataSource));
        this.instance = new OutboxInstance(
                name,
                settings.table(),
                dataSource,
                connections,
                store,
                txContext,
                orElse(beans.own(OutboxListeners.class, name), new OutboxListeners()),
                new OutboxAdmin(connections, store, this::protectionStatus),
                settings.properties().role().writes() ? writer(txContext, store) : null,
                null,
                null,
                leadership);
        OutboxProperties.Order order = settings.properties().ordering();
        instance.blocksBehindDead(order.perAggregate() && order.whenDead() == WhenDead.BLOCK);
    }

    private @Nullable ProtectionStatus protectionStatus() {
        OutboxDispatcher dispatcher = instance.dispatcher();
        return dispatcher == null ? null : dispatcher.protectionStatus();
    }

    private static <T> T orElse(@Nullable T given, T other) {
        return given == null ? other : given;
    }

    private EventStore customized(EventStore store) {
        EventStore customized = store;
        for (OutboxCustomizer customizer : customizers) {
            customized = Objects.requireNonNull(customizer.store(name, customized), "store");
        }
        return customized;
    }

    /** Metrics call a table by one name, however it is spelled; if the database is away, the spelling stays. */
    private void nameTable(DataSource dataSource) {
        for (OutboxCustomizer customizer : customizers) {
            if (customizer instanceof MetricsCustomizer metrics) {
                try (Connection connection = dataSource.getConnection()) {
                    metrics.table(name, new TableName(settings.table()).qualified(connection));
                } catch (SQLException | IllegalArgumentException e) {
                    LOG.log(Level.DEBUG, "Cannot find out the schema of table " + settings.table(), e);
                }
            }
        }
    }

    private @Nullable Leadership leadership(DataSource dataSource) {
        Leadership given = beans.own(Leadership.class, name);
        OutboxProperties.SingleActive singleActive = settings.properties().singleActive();
        if (given != null || !singleActive.enabled()) {
            return given;
        }
        return new RenewedLeadership(dataSource, settings.table(), singleActive.term());
    }

    private OutboxWriter writer(TxContext txContext, EventStore store) {
        OutboxProperties.Writer how = settings.properties().writer();
        boolean hot = settings.properties().role().relays();
        OutboxWriter writer = new OutboxWriter(txContext, store, hot ? hotPath : null);
        if (how.gathering()) {
            writer = writer.gathering();
        }
        if (how.refuseDuplicates()) {
            writer = writer.refusingDuplicates();
        }
        for (OutboxCustomizer customizer : customizers) {
            writer = Objects.requireNonNull(customizer.writer(name, writer), "writer");
        }
        for (WriteInterceptor interceptor : beans.all(WriteInterceptor.class, name)) { // inside of what traces
            writer = writer.interceptedBy(interceptor);
        }
        return writer;
    }

    String name() {
        return name;
    }

    OutboxInstance instance() {
        return instance;
    }

    boolean relays() {
        return settings.properties().role().relays();
    }

    /** Makes and starts what delivers, and gets the listeners before the first time. */
    void start() {
        stopping.set(false);
        if (instance.writer() != null && instance.txContext() instanceof SpringTxContext context) {
            transactions.tell(transactions.require(name, settings, instance.dataSource()), context);
        }
        if (!relays()) {
            return; // and needs no listeners, some of which connect
        }
        if (!filled) {
            beans.all(ListenerSource.class, name).forEach(source -> source.addTo(name, instance.listeners()));
            filled = true;
        }
        purge = purge(); // first: what it refuses has no threads yet
        OutboxDispatcher dispatcher = dispatcher();
        try {
            OutboxPoller poller = poller(dispatcher);
            instance.runs(dispatcher, poller);
            if (startsByItself()) {
                hotPath.leadTo(hook(dispatcher, poller));
                poller.start();
                if (purge != null) {
                    purge.start();
                }
            }
        } catch (RuntimeException | Error e) {
            dispatcher.close();
            throw e;
        }
    }

    /** Where a table has no place for claims, no event can be born leased to the dispatcher: the poller takes it at once. */
    private AfterCommitHook hook(OutboxDispatcher dispatcher, OutboxPoller poller) {
        boolean leases = settings.properties().layout().of(settings.table()).has(LayoutFeature.BORN_LEASED);
        return leases ? new DispatcherCommitHook(dispatcher) : event -> poller.wake();
    }

    private boolean startsByItself() {
        return customizers.stream().allMatch(customizer -> customizer.startsByItself(name));
    }

    private OutboxDispatcher dispatcher() {
        PropertyCheck check = settings.check();
        OutboxProperties properties = settings.properties();
        OutboxDispatcher.Builder builder = OutboxDispatcher.builder()
                .connectionProvider(instance.connections())
                .eventStore(instance.store())
                .maxAttempts(settings.maxAttempts())
                .retryPolicy(orElse(
                        beans.one(RetryPolicy.class, name),
                        RetrySettings.policy(check.at("retry"), properties.retry())));
        settings.applyTo(builder);
        instance.listeners().configure(builder, retryRules(), protection());
        Leadership leadership = instance.leadership();
        if (leadership != null) {
            builder.leadership(leadership);
        }
        customizers.forEach(customizer -> customizer.dispatcher(name, builder));
        builder.interceptors(
                beans.all(EventInterceptor.class, name)); // inside of what traces: a refusal is on the span
        return builder.build();
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

    private OutboxPoller poller(OutboxDispatcher dispatcher) {
        OutboxPoller.Builder builder = OutboxPoller.builder()
                .connectionProvider(instance.connections())
                .eventStore(instance.store())
                .handler(new DispatcherPollerHandler(dispatcher));
        settings.applyTo(builder);
        customizers.forEach(customizer -> customizer.poller(name, builder));
        return builder.build();
    }

    private @Nullable OutboxPurge purge() {
        if (!settings.properties().purge().enabled() || !(instance.store() instanceof AdminEventStore)) {
            return null;
        }
        OutboxPurge.Builder builder =
                OutboxPurge.builder().connectionProvider(instance.connections()).eventStore(instance.store());
        settings.applyTo(builder);
        customizers.forEach(customizer -> customizer.purge(name, builder));
        return builder.build();
    }

    /**
     * Takes no more events, lets those at work finish, writes their outcomes, and then gives up the lead. Side by side: while the database does not answer, each part takes as long as it is
     * patient with it. Does nothing if it has begun already.
     */
    void stop() {
        if (!stopping.compareAndSet(false, true)) {
            return;
        }
        SideBySide parts = new SideBySide();
        OutboxPoller poller = instance.poller();
        if (poller != null) {
            parts.begin(name + "-poller", poller::close); // what it still brings, the dispatcher refuses
        }
        if (purge != null) {
            parts.begin(name + "-purge", purge::close);
        }
        OutboxDispatcher dispatcher = instance.dispatcher();
        if (dispatcher != null) {
            parts.begin(name + "-dispatcher", dispatcher::close);
        }
        parts.await(UNTIL_ALL_END);
        Leadership leadership = instance.leadership();
        if (leadership != null) {
            leadership.close(); // last: until here no other may deliver
        }
    }
}
