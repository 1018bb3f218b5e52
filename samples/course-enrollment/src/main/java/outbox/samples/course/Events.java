package outbox.samples.course;

import outbox.inbox.Inbox;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcInbox;
import outbox.jdbc.OutboxSchema;
import outbox.memory.MemoryEventStore;
import outbox.memory.MemoryInbox;
import outbox.memory.WhenFull;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;

import java.util.function.IntSupplier;

/**
 * Where events are, and what remembers their effects; how many wait is known in memory only. Memory forgets both with
 * the process; then the effects in the database tell what reconciliation has to bring back.
 */
record Events(EventStore store, ConnectionProvider connections, Inbox inbox, IntSupplier pending) {

    /** No table at all. */
    static Events inMemory(CourseDatabase database, boolean delivered) {
        MemoryEventStore store = MemoryEventStore.builder()
                .joining(database.txContext())
                .whenFull(
                        delivered ? WhenFull.REFUSE : WhenFull.DROP) // what nobody delivers must not stop the business
                .build();
        return new Events(store, store.connections(), new MemoryInbox(), store::pending);
    }

    /** In the database of the business data. */
    static Events inDatabase(CourseDatabase database) {
        AbstractJdbcEventStore store = JdbcEventStores.detect(database.dataSource());
        OutboxSchema.create(database.dataSource(), store, Capability.CONTROL, Capability.RECONCILE);
        ConnectionProvider connections = new DataSourceConnectionProvider(database.dataSource());
        JdbcInbox inbox = JdbcInbox.builder()
                .connectionProvider(connections)
                .txContext(database.txContext())
                .build();
        OutboxSchema.createInbox(database.dataSource(), inbox);
        return new Events(store, connections, inbox, () -> 0);
    }
}
