package outbox.cli;

import outbox.cli.doctor.TableKind;
import outbox.jdbc.AttemptLimits;
import outbox.jdbc.TableLayout;

import java.util.OptionalInt;
import javax.sql.DataSource;

/**
 * The number of attempts after which an event of a module's table is dead, from the settings. The relay of the table
 * also records this number in the database. A number in the settings must be equal to the recorded one, and is not
 * needed if one is recorded. Tables of other kinds have a status column and record no number.
 *
 * @param origin where the number was set, or how to set it
 */
record MaxAttempts(int number, boolean isGiven, String origin) {

    /** The limit of an existing table: the recorded number if there is one, else the number from the settings. */
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

    /** The limit recorded in the database; empty if none is recorded or the table needs none. */
    static OptionalInt recorded(DataSource database, TableKind kind, String table) {
        return kind == TableKind.MODULE
                ? AttemptLimits.recorded(database, TableLayout.module(table))
                : OptionalInt.empty();
    }

    /** Whether dead events of the table are defined only by a limit, and the database has not recorded it. */
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
