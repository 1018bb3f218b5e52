package outbox.cli.doctor;

import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Events that nobody has a listener or route for. Nodes do not write down what they know, so it goes by the types that the caller names; without them, by what can be seen: events that died
 * for want of a listener, and types that nobody takes while others flow.
 */
final class RouteCheck implements Check {

    private static final String NO_LISTENER = "No listener is registered for ";
    private static final String REMEDY =
            " Register a listener for it in the nodes that serve this table; replay what is dead by then: outbox replay --type ";

    @Override
    public String name() {
        return "route";
    }

    @Override
    public List<Finding> look(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        Set<String> known = examination.limits().types();
        if (known != null) {
            findings.addAll(unknown(examination, known));
        } else {
            findings.addAll(ignored(examination));
        }
        findings.addAll(unroutable(examination));
        return findings;
    }

    private List<Finding> unknown(Examination examination, Set<String> known) throws SQLException {
        String type = examination.columns().type();
        String sql = "SELECT %s, COUNT(*) FROM %s WHERE %s GROUP BY %s"
                .formatted(type, examination.table(), examination.columns().pending(), type);
        return examination.queries().rows(sql).stream()
                .filter(row -> !known.contains(row.get(0)))
                .map(row -> finding(
                        row.get(1) + " pending events have the type " + row.get(0)
                                + ", which is not among those with a listener or route.",
                        "Correct the list of --types, or:" + REMEDY + row.get(0)))
                .toList();
    }

    /** Binds: latest available_at. */
    private List<Finding> ignored(Examination examination) throws SQLException {
        Instant due = examination.now().minus(examination.limits().stalled());
        Object bind = examination.queries().time("available_at", due);
        String type = examination.columns().type();
        String sql =
                """
                SELECT %1$s, COUNT(*)
                  FROM %2$s
                 WHERE %3$s AND available_at <= ? AND attempts = 0 AND locked_at IS NULL
                 GROUP BY %1$s
                """.formatted(type, examination.table(), examination.columns().pending());
        List<Finding> findings = new ArrayList<>();
        Object done = examination.queries().time("done_at", due);
        boolean othersFlow = examination.queries().count("status = 1 AND done_at > ?", done) > 0;
        if (othersFlow) {
            for (var row : examination.queries().rows(sql, bind)) {
                findings.add(finding(
                        row.get(1) + " events of the type " + row.get(0) + " are due for longer than "
                                + examination.limits().stalled().toSeconds()
                                + " s and nobody takes them, while other events are delivered.",
                        "If the relay is not merely behind:" + REMEDY + row.get(0)));
            }
        }
        return findings;
    }

    private List<Finding> unroutable(Examination examination) throws SQLException {
        String type = examination.columns().type();
        String sql = """
                SELECT %1$s, COUNT(*)
                  FROM %2$s
                 WHERE status = 3 AND last_error LIKE '%3$s'
                 GROUP BY %1$s
                """.formatted(type, examination.table(), "%" + NO_LISTENER + "%");
        return examination.queries().rows(sql).stream()
                .map(row -> finding(
                        row.get(1) + " events of the type " + row.get(0) + " are dead because no listener was there.",
                        (REMEDY + row.get(0)).strip()))
                .toList();
    }
}
