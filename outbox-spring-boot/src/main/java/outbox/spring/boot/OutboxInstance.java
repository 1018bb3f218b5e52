package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.Leadership;
import outbox.spi.TxContext;
import outbox.spring.OutboxListeners;

import java.util.Objects;
import javax.sql.DataSource;

/** One outbox of the application with its parts. There is a bean of this type for each outbox. Thread-safe. */
public final class OutboxInstance {

    private final String name;
    private final String table;
    private final DataSource dataSource;
    private final ConnectionProvider connections;
    private final EventStore store;
    private final TxContext txContext;
    private final OutboxListeners listeners;
    private final OutboxAdmin admin;
    private final @Nullable OutboxWriter writer;
    private volatile @Nullable OutboxDispatcher dispatcher; // set by the lifecycle, as the next
    private volatile @Nullable OutboxPoller poller;
    private final @Nullable Leadership leadership;
    private volatile boolean blocking; // whether a dead event holds back those behind it

    /** An instance for tests and for those who build an outbox by hand: its parts are theirs to start and to close. */
    public OutboxInstance(
            String name,
            String table,
            DataSource dataSource,
            ConnectionProvider connections,
            EventStore store,
            TxContext txContext,
            OutboxListeners listeners,
            OutboxAdmin admin,
            @Nullable OutboxWriter writer,
            @Nullable OutboxDispatcher dispatcher,
            @Nullable OutboxPoller poller,
            @Nullable Leadership leadership) {
        this.name = Objects.requireNonNull(name, "name");
        this.table = Objects.requireNonNull(table, "table");
        this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
        this.connections = Objects.requireNonNull(connections, "connections");
        this.store = Objects.requireNonNull(store, "store");
        this.txContext = Objects.requireNonNull(txContext, "txContext");
        this.listeners = Objects.requireNonNull(listeners, "listeners");
        this.admin = Objects.requireNonNull(admin, "admin");
        this.writer = writer;
        this.dispatcher = dispatcher;
        this.poller = poller;
        this.leadership = leadership;
    }

    /** Its name; that of the only outbox is {@link outbox.spring.Outbox#DEFAULT}. */
    public String name() {
        return name;
    }

    public String table() {
        return table;
    }

    public DataSource dataSource() {
        return dataSource;
    }

    public ConnectionProvider connections() {
        return connections;
    }

    public EventStore store() {
        return store;
    }

    public TxContext txContext() {
        return txContext;
    }

    /** Filled from all {@link outbox.spring.ListenerSource}s when the application starts, once all its beans are there. */
    public OutboxListeners listeners() {
        return listeners;
    }

    public OutboxAdmin admin() {
        return admin;
    }

    /** Null if this process only relays. */
    public @Nullable OutboxWriter writer() {
        return writer;
    }

    /** Null if this process only writes, and before the application has started: what a dispatcher does is known when its listeners are. A new one after a restart. */
    public @Nullable OutboxDispatcher dispatcher() {
        return dispatcher;
    }

    /** Null as the dispatcher is. */
    public @Nullable OutboxPoller poller() {
        return poller;
    }

    /** Null if all nodes deliver. */
    public @Nullable Leadership leadership() {
        return leadership;
    }

    void runs(OutboxDispatcher newDispatcher, OutboxPoller newPoller) {
        dispatcher = newDispatcher;
        poller = newPoller;
    }

    void blocksBehindDead(boolean blocks) {
        blocking = blocks;
    }

    boolean blocksBehindDead() {
        return blocking;
    }

    @Override
    public String toString() {
        return "outbox " + name + " (table " + table + ")";
    }
}
