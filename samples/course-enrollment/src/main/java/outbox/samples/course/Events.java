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
 * The store of the events and the inbox of their effects. Only the store in memory knows how many events wait.
 * Memory loses events and inbox with the process. Reconciliation then finds the missing effects in the database and
 * writes their events again.
 */
record Events(EventStore store, ConnectionProvider connections, Inbox inbox, IntSupplier pending) {

    /** Needs no outbox table. */
    static Events inMemory(CourseDatabase database, boolean delivered) {
        MemoryEventStore store = MemoryEventStore.builder()
                .joining(database.txContext())
                // without delivery the store fills up, which must not stop the business
                .whenFull(delivered ? WhenFull.REFUSE : WhenFull.DROP)
                .build();
        return new Events(store, store.connections(), new MemoryInbox(), store::pending);
    }

    /** Uses the database of the business data. */
    static Events inDatabase(CourseDatabase database) {
        AbstractJdbcEventStore store = JdbcEventStores.detect(database.dataSource());
        OutboxSchema.create(database.dataSource(), store, Capability.KEYS, Capability.RECONCILE);
        ConnectionProvider connections = new DataSourceConnectionProvider(database.dataSource());
        JdbcInbox inbox = JdbcInbox.builder()
                .connectionProvider(connections)
                .txContext(database.txContext())
                .build();
        OutboxSchema.createInbox(database.dataSource(), inbox);
        return new Events(store, connections, inbox, () -> 0);
    }
}
