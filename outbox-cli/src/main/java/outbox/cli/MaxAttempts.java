package outbox.cli;

import outbox.cli.doctor.TableKind;
import outbox.jdbc.AttemptLimits;
import outbox.jdbc.TableLayout;

import java.util.OptionalInt;
import javax.sql.DataSource;

/**
 * From how many attempts on an event of a module's table is dead, as the settings have it. The database may know it
 * too, written by the relay of the table: then it must be the same, or
 * need not be given at all. Tables of other kinds have a status, and no limit in the database.
 *
 * @param origin where it was set, or how to set it
 */
record MaxAttempts(int number, boolean isGiven, String origin) {

    /** Of a table that is there: what the database says, else what the settings say. */
    int of(DataSource database, TableKind kind, String table) {
        OptionalInt recorded = recorded(database, kind, table);
        if (isGiven && recorded.isPresent() && recorded.getAsInt() != number) {
            throw new SettingsException("Events of table " + table + " are dead after " + recorded.getAsInt()
                    + " attempts, as the database knows, but " + origin + " says " + number
                    + ". Leave that out. Or, to change the limit, stop all relays of the table and run: outbox schema"
                    + " apply --table " + table + " --max-attempts " + number);
        }
        return recorded.orElse(number);
    }

    /** The limit in the database; empty if it is not there, or the table needs none. */
    static OptionalInt recorded(DataSource database, TableKind kind, String table) {
        return kind == TableKind.MODULE
                ? AttemptLimits.recorded(database, TableLayout.module(table))
                : OptionalInt.empty();
    }

    /** Whether dead events of the table can only be told by a limit, which the database should know and does not. */
    static boolean isUnknown(DataSource database, String product, TableKind kind, String table) {
        return product.equals("postgresql")
                && kind == TableKind.MODULE
                && recorded(database, kind, table).isEmpty();
    }

    static String unknown(String table) {
        return "The database does not know after how many attempts events of table " + table
                + " are dead. Start the relay of the table after: outbox schema apply --table " + table
                + ", or give the number that its relay has: outbox schema apply --table " + table
                + " --max-attempts N";
    }
}
