package outbox.cli.doctor;

import outbox.spi.AdminEventStore;

/**
 * The table to look at.
 *
 * @param database h2, mysql or postgresql
 * @param table its name, which a store has checked
 * @param kind what its columns say, or what it is expected to be
 * @param maxAttempts from how many attempts on an event of a module's table is dead
 */
public record Subject(String database, String table, TableKind kind, int maxAttempts, AdminEventStore store) {}
