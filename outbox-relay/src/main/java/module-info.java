/**
 * A relay for one table, and an event bus. A module with {@code @Subscribe} methods must open their package
 * to this module.
 */
module outbox.relay {
    requires transitive outbox.core;
    requires static org.jspecify;

    exports outbox.relay;
}
