package outbox.jdbc;

import outbox.memory.MemoryEventStore;

class MemoryUpcastTest extends UpcastContract {

    @Override
    Place createPlace(ThreadLocalTxContext tx) {
        MemoryEventStore store = new MemoryEventStore(tx);
        return new Place(store.connections(), store);
    }
}
