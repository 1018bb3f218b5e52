package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;

import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Finds events without a listener or route. Nodes do not record their listeners. So the check uses the types that the
 * caller names. Without them it looks for events that died because no listener was registered, and for types that no
 * node claims while other events are delivered.
 */
final class RouteCheck extends Check {

    private static final String NO_LISTENER = "No listener is registered for "; // message of the dispatcher
    private static final String NO_SUBSCRIBER = "Nobody has subscribed to topic "; // message of the event bus
    private static final String NO_NODE =
            "No node took this event within "; // message of a poller that claims only known types
    // message of a listener for typed payloads
    private static final String NEWER = " of its payload, and this node knows ";
    private static final String REMEDY = "Register a listener for it in the nodes that serve this table";

    /** SQL condition: the error of an event is one that this check explains. */
    static final String EXPLAINED = "last_error LIKE '%" + NO_LISTENER + "%' OR last_error LIKE '%" + NO_SUBSCRIBER
            + "%' OR last_error LIKE '%" + NO_NODE + "%' OR last_error LIKE '%" + NEWER + "%'";

    RouteCheck() {
        super("route", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        Set<String> known = examination.limits().types();
        if (known != null) {
            findings.addAll(unknown(examination, known));
        } else {
            findings.addAll(ignored(examination));
        }
        findings.addAll(unroutable(examination));
        findings.addAll(newer(examination));
        return findings;
    }

    private List<Finding> unknown(Examination examination, Set<String> known) throws SQLException {
        String type = examination.kind().type();
        String sql = "SELECT %s, COUNT(*) FROM %s WHERE %s GROUP BY %s"
                .formatted(type, examination.table(), examination.pending(), type);
        return examination.queries().rows(sql).stream()
                .filter(row -> !known.contains(row.get(0)))
                .map(row -> finding(
                        row.get(1) + " pending events have the type " + shown(row)
                                + ", which is not among those with a listener or route.",
                        "Correct the list of --types, or: " + REMEDY + ".",
                        list(examination, row)))
                .toList();
    }

    /**
     * Finds types that are due but never claimed. An event without a due time is due from its creation. Binds: latest
     * due time, latest creation time.
     */
    private List<Finding> ignored(Examination examination) throws SQLException {
        Queries queries = examination.queries();
        TableKind kind = examination.kind();
        Instant since = examination.now().minus(examination.limits().stalled());
        String sql = """
                SELECT %1$s, COUNT(*)
                  FROM %2$s
                 WHERE %3$s AND %4$s AND %7$s <= ? AND %5$s = 0 %6$s
                 GROUP BY %1$s
                """.formatted(
                        kind.type(),
                        examination.table(),
                        examination.pending(),
                        examination.due(),
                        kind.attempts(),
                        kind.hasClaims() ? "AND locked_at IS NULL" : "",
                        kind.created());
        var late = queries.rows(sql, queries.time(kind.due(), since), queries.time(kind.created(), since));
        Set<String> flowing = late.isEmpty() ? Set.of() : flowing(examination, since);
        if (flowing.isEmpty()) { // nothing is delivered at all: the relay check reports that
            return List.of();
        }
        return late.stream()
                .filter(row -> !flowing.contains(String.valueOf(row.get(0))))
                .map(row -> finding(
                        row.get(1) + " events of the type " + shown(row) + " are due for longer than "
                                + examination.limits().stalled().toSeconds()
                                + " s and nobody takes them, while other events are delivered.",
                        "If the relay is not merely behind: " + REMEDY + ".",
                        list(examination, row)))
                .toList();
    }

    /** Types of events delivered since then. Scans the table if there is no index for the query. */
    private static Set<String> flowing(Examination examination, Instant since) throws SQLException {
        TableKind kind = examination.kind();
        String sql = "SELECT DISTINCT %s FROM %s WHERE %s AND %s > ?"
                .formatted(
                        kind.type(),
                        examination.table(),
                        kind.is(EventStatus.DONE, examination.subject().maxAttempts()),
                        kind.end());
        Object bind = examination.queries().time(kind.end(), since);
        return examination.queries().rows(sql, bind).stream()
                .map(row -> String.valueOf(row.get(0)))
                .collect(Collectors.toSet());
    }

    private List<Finding> unroutable(Examination examination) throws SQLException {
        TableKind kind = examination.kind();
        if (!kind.hasErrors()) {
            return List.of();
        }
        String sql = """
                SELECT %1$s, COUNT(*)
                  FROM %2$s
                 WHERE %3$s AND (last_error LIKE '%4$s' OR last_error LIKE '%5$s' OR last_error LIKE '%6$s')
                 GROUP BY %1$s
                """.formatted(
                        kind.type(),
                        examination.table(),
                        kind.is(EventStatus.DEAD, examination.subject().maxAttempts()),
                        "%" + NO_LISTENER + "%",
                        "%" + NO_SUBSCRIBER + "%",
                        "%" + NO_NODE + "%");
        return examination.queries().rows(sql).stream()
                .map(row -> finding(
                        row.get(1) + " events of the type " + shown(row)
                                + " are dead because no listener or subscriber was there.",
                        REMEDY + "; then replay what is dead.",
                        replay(examination, row)))
                .toList();
    }

    /** Finds events that wait for a node of a newer version, and events that died while waiting. */
    private List<Finding> newer(Examination examination) throws SQLException {
        TableKind kind = examination.kind();
        if (!kind.hasErrors()) {
            return List.of();
        }
        String sql = """
                SELECT %1$s, COUNT(*)
                  FROM %2$s
                 WHERE ((%3$s) OR (%4$s)) AND last_error LIKE '%5$s'
                 GROUP BY %1$s
                """.formatted(
                        kind.type(),
                        examination.table(),
                        examination.pending(),
                        kind.is(EventStatus.DEAD, examination.subject().maxAttempts()),
                        "%" + NEWER + "%");
        return examination.queries().rows(sql).stream()
                .map(row -> finding(
                        row.get(1) + " events of the type " + shown(row)
                                + " have a newer version of their payload than the nodes that took them know.",
                        "Finish the deployment of the newer version; then replay what is dead.",
                        replay(examination, row)))
                .toList();
    }

    private static String shown(List<@Nullable String> row) {
        return Quoted.shown(String.valueOf(row.get(0)), 100);
    }

    /** The call that lists pending events of the type in a row. */
    private static String list(Examination examination, List<@Nullable String> row) {
        return ofType(examination.call("list").with("--status", "NEW,RETRY"), row);
    }

    /** The call that replays dead events of the type in a row; the type must be usable in a filter. */
    private static String replay(Examination examination, List<@Nullable String> row) {
        if (!Quoted.isUsable(String.valueOf(row.get(0)))) {
            return examination.call("list").with("--status", "DEAD").toString();
        }
        OutboxCall replay = examination
                .call("replay")
                .with("--cap", String.valueOf(row.get(1)))
                .with("--rate", "20")
                .with("--reason", "nodes know the type now");
        return ofType(replay, row);
    }

    private static String ofType(OutboxCall call, List<@Nullable String> row) {
        String type = String.valueOf(row.get(0));
        return (Quoted.isUsable(type) ? call.with("--type", type) : call).toString();
    }
}
