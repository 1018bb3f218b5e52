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
    private volatile @Nullable OutboxDispatcher dispatcher; // written by the lifecycle thread, read by any thread
    private volatile @Nullable OutboxPoller poller; // written by the lifecycle thread, read by any thread
    private final @Nullable Leadership leadership;
    private volatile boolean blocking; // whether a dead event blocks the events behind it

    /**
     * Creates an instance for tests, or for an outbox that is built by hand. The caller starts and closes the parts.
     */
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

    /**
     * Returns the name. If the application has a single outbox, its name is {@link outbox.spring.Outbox#DEFAULT}.
     */
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

    /**
     * Returns the listeners. They are added from all {@link outbox.spring.ListenerSource}s when the application
     * starts, after all beans were created.
     */
    public OutboxListeners listeners() {
        return listeners;
    }

    public OutboxAdmin admin() {
        return admin;
    }

    /** Returns null if this process only relays. */
    public @Nullable OutboxWriter writer() {
        return writer;
    }

    /**
     * Returns null if this process only writes, and before the application has started, because the dispatcher needs
     * its listeners. After a restart of the context, it returns a new dispatcher.
     */
    public @Nullable OutboxDispatcher dispatcher() {
        return dispatcher;
    }

    /** Returns null in the same cases as {@link #dispatcher}. */
    public @Nullable OutboxPoller poller() {
        return poller;
    }

    /** Returns null if all nodes deliver. */
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
