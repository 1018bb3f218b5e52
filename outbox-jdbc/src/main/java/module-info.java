/** Event stores, inbox, leadership and transactions on plain JDBC. */
module outbox.jdbc {
    requires transitive outbox.core;
    requires transitive outbox.reconcile;
    requires transitive outbox.relay;
    requires static org.jspecify;

    exports outbox.jdbc;

    uses outbox.jdbc.Dialect;
}
