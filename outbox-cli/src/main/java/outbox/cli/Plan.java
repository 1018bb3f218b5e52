package outbox.cli;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;
import java.util.Locale;

/**
 * The effect of a change, shown before it is made.
 *
 * @param verb the operation, such as Replay
 * @param sql the statement, with its values
 * @param rows how many rows it changes
 * @param matched how many events match; more than the rows if there is a cap
 * @param isNamed whether the events were named by id
 * @param object what is changed, if not events
 */
record Plan(
        String verb,
        String table,
        String sql,
        long rows,
        long matched,
        boolean isNamed,
        @Nullable String object) {

    /** A plan that changes events. */
    Plan(String verb, String table, String sql, long rows, long matched, boolean isNamed) {
        this(verb, table, sql, rows, matched, isNamed, null);
    }

    String question() {
        return object != null
                ? verb + " " + object + " of " + table + "?"
                : verb + " " + rows + (rows == 1 ? " event of " : " events of ") + table + "?";
    }

    String nothingToDo() {
        return object == null
                ? "Nothing to do: no such event is there."
                : "Nothing to do: " + object + " of " + table + " is so already.";
    }

    void print(PrintWriter out) {
        out.println(sql);
        out.println();
        out.println("Rows: " + rows + (matched > rows ? " of " + matched + " that match" : ""));
    }

    Answer answer(boolean done) {
        return new Answer()
                .with("action", verb.toUpperCase(Locale.ROOT).replace(' ', '_').replace('-', '_'))
                .with("table", table)
                .with("sql", sql)
                .with("rows", rows)
                .with("matched", matched)
                .with("done", done);
    }
}
