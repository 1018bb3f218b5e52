package outbox.cli.doctor;

import outbox.spi.LeasingEventStore;

/**
 * The table to examine.
 *
 * @param database h2, mysql or postgresql
 * @param table its name, checked by a store
 * @param kind the kind by its columns, or the expected kind
 * @param maxAttempts the number of attempts after which an event of a module's table is dead
 */
public record Subject(String database, String table, TableKind kind, int maxAttempts, LeasingEventStore store) {}
