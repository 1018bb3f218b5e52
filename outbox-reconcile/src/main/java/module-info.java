/** Jobs that find facts in business tables without an event, and write the event. */
module outbox.reconcile {
    requires transitive outbox.core;
    requires static org.jspecify;

    exports outbox.reconcile;
}
