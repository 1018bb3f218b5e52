/** An event store, an inbox and transactions in memory. */
module outbox.memory {
    requires transitive outbox.core;
    requires static org.jspecify;

    exports outbox.memory;
}
