package outbox.cli;

import java.io.PrintWriter;
import java.util.Locale;

/**
 * What a change will do, shown before it happens.
 *
 * @param verb what is done to the events, such as Replay
 * @param sql the statement, with its values
 * @param rows how many rows it changes
 * @param matched how many events are meant; more if there is a cap
 * @param isNamed whether the events were named one by one
 */
record Plan(String verb, String table, String sql, long rows, long matched, boolean isNamed) {

    String question() {
        return verb + " " + rows + (rows == 1 ? " event of " : " events of ") + table + "?";
    }

    void print(PrintWriter out) {
        out.println(sql);
        out.println();
        out.println("Rows: " + rows + (matched > rows ? " of " + matched + " that match" : ""));
    }

    Answer answer(boolean done) {
        return new Answer()
                .with("action", verb.toUpperCase(Locale.ROOT))
                .with("table", table)
                .with("sql", sql)
                .with("rows", rows)
                .with("matched", matched)
                .with("done", done);
    }
}
