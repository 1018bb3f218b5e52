package outbox.samples.demo;

import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * Shows the progress of the run: on a terminal a table that is redrawn in place, otherwise one line per second. Used
 * by one thread.
 */
final class Screen {

    private static final String CLEAR_LINE = "\u001b[2K";

    private final PrintStream out;
    private final boolean live;
    private int linesDrawn; // height of the table, to move the cursor back

    Screen(PrintStream out, boolean live) {
        this.out = out;
        this.live = live;
    }

    /** The launcher script checks whether stdout is a terminal, because Java 17 cannot. */
    static boolean isTerminal() {
        String term = System.getenv("TERM");
        return Boolean.getBoolean("outbox.terminal") && term != null && !term.equals("dumb");
    }

    Duration interval() {
        return live ? Duration.ofMillis(250) : Duration.ofSeconds(1);
    }

    void show(String state, Ledger.Totals totals, long backlog) {
        if (live) {
            redraw(table(state, totals, backlog));
        } else {
            out.println(line(state, totals, backlog));
        }
        out.flush();
    }

    void print(List<String> lines) {
        out.println();
        lines.forEach(out::println);
        out.flush();
    }

    private void redraw(List<String> table) {
        if (linesDrawn > 0) {
            out.print("\u001b[" + linesDrawn + "A"); // moves the cursor up, to draw over the table
        }
        table.forEach(line -> out.println(CLEAR_LINE + line));
        linesDrawn = table.size();
    }

    private static List<String> table(String state, Ledger.Totals totals, long backlog) {
        return List.of(
                "Outbox demo: " + state,
                "",
                row("written", totals.committed(), "orders committed, each with its event"),
                row("rolled back", totals.rolledBack(), "and " + totals.rolledBackToSavepoint() + " to a savepoint"),
                row("delivered hot", totals.deliveredHot(), "right after the commit"),
                row("delivered cold", totals.deliveredCold(), "by the poller: imports, retries, overflow"),
                row("hot queue full", totals.overflowed(), "left to the poller"),
                row("retried", totals.retried(), "the carrier did not answer"),
                row("dead", totals.dead(), "no carrier delivers to " + Order.ATLANTIS),
                row("backlog", backlog, "in the database, not yet delivered"),
                "",
                "  commit to delivery, hot    " + totals.hot(),
                "  commit to delivery, cold   " + totals.cold());
    }

    private static String row(String what, long count, String remark) {
        return String.format(Locale.ROOT, "  %-15s %9d  %s", what, count, remark);
    }

    private static String line(String state, Ledger.Totals totals, long backlog) {
        return String.format(
                Locale.ROOT,
                "%s: written %d, rolled back %d, delivered hot %d, cold %d, hot queue full %d, retried %d, dead %d, backlog %d, hot %s, cold %s",
                state,
                totals.committed(),
                totals.rolledBack() + totals.rolledBackToSavepoint(),
                totals.deliveredHot(),
                totals.deliveredCold(),
                totals.overflowed(),
                totals.retried(),
                totals.dead(),
                backlog,
                totals.hot(),
                totals.cold());
    }
}
