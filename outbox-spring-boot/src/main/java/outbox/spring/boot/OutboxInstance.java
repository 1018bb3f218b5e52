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

import javax.sql.DataSource;

/**
 * One outbox of the application with its parts. There is a bean of this type for each outbox. If the application
 * defines the bean itself, it also starts and closes the parts. Thread-safe.
 */
public interface OutboxInstance {

    /**
     * Returns the name. If the application has a single outbox, its name is {@link outbox.spring.Outbox#DEFAULT}.
     */
    String name();

    String table();

    DataSource dataSource();

    ConnectionProvider connections();

    EventStore store();

    TxContext txContext();

    /**
     * Returns the listeners. They are added from all {@link outbox.spring.ListenerSource}s when the application
     * starts, after all beans were created.
     */
    OutboxListeners listeners();

    OutboxAdmin admin();

    /** Returns null if this process only relays. */
    @Nullable
    OutboxWriter writer();

    /**
     * Returns null if this process only writes, and before the application has started, because the dispatcher needs
     * its listeners. After a restart of the context, it returns a new dispatcher.
     */
    @Nullable
    OutboxDispatcher dispatcher();

    /** Returns null in the same cases as {@link #dispatcher}. */
    @Nullable
    OutboxPoller poller();

    /** Returns null if all nodes deliver. */
    @Nullable
    Leadership leadership();

    /** Whether a dead event blocks the later events of its aggregate. */
    boolean blocksBehindDead();
}
