package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Finds pending events with implausible times: due in years, due never, written in the future, or claimed in the
 * future.
 */
final class FutureCheck extends Check {

    private static final Duration FAR = Duration.ofDays(365);
    private static final Duration SOON = Duration.ofDays(1);
    private static final int MOST = 1_000; // events that are counted

    FutureCheck() {
        super("future", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        Queries queries = examination.queries();
        TableKind kind = examination.kind();
        Instant now = examination.now();
        List<Finding> findings = new ArrayList<>();
        Instant far = now.plus(FAR);
        look(
                        examination,
                        kind.due(),
                        kind.due() + " > ?",
                        "due more than a year from now, or never: no relay takes them before",
                        queries.time(kind.due(), far))
                .ifPresent(findings::add);
        String created = kind.created();
        look(
                        examination,
                        created,
                        "(" + created + " > ? OR " + created + " < ?)",
                        "said to be written in the future, or before 1970: ages and lags mean nothing",
                        queries.time(created, now.plus(SOON)),
                        queries.time(created, Instant.EPOCH))
                .ifPresent(findings::add);
        if (kind.hasClaims()) {
            look(
                            examination,
                            "locked_at",
                            "locked_at > ?",
                            "held by a claim of the future: its lease does not end, so nobody takes them again",
                            queries.time("locked_at", now.plus(SOON)))
                    .ifPresent(findings::add);
        }
        return findings;
    }

    /** Binds: the given values. */
    private Optional<Finding> look(
            Examination examination, String column, String condition, String what, Object... values)
            throws SQLException {
        String sql = "SELECT event_id, %s FROM %s WHERE %s AND %s LIMIT %d"
                .formatted(column, examination.table(), examination.pending(), condition, MOST);
        List<List<@Nullable String>> rows = examination.queries().rows(sql, values);
        if (rows.isEmpty()) {
            return Optional.empty();
        }
        String count = String.format(Locale.ROOT, "%,d%s", rows.size(), rows.size() == MOST ? " or more" : "");
        String id = String.valueOf(rows.get(0).get(0));
        return Optional.of(finding(
                count + " pending events of " + examination.table() + " are " + what + ". One is "
                        + Quoted.shown(id, 60) + ", with " + column + " "
                        + rows.get(0).get(1) + ".",
                "Find out who writes such times. If they are not meant, correct them, event by event as below,"
                        + " or all at once by a condition on " + column + ".",
                commands(examination, column, id)));
    }

    private static List<String> commands(Examination examination, String column, String id) {
        List<String> commands = new ArrayList<>();
        if (!Quoted.isUsable(id)) {
            return commands;
        }
        commands.add(examination.call("show").of(id));
        if (examination.isPostgres() || examination.isMySql()) {
            boolean isClaim = column.equals("locked_at");
            String value = isClaim
                    ? "NULL" + (examination.kind() == TableKind.EVENT ? ", locked_by = NULL" : "")
                    : examination.nowFor(column);
            commands.add("UPDATE " + examination.table() + " SET " + column + " = " + value + " WHERE event_id = "
                    + examination.literal(id) + ";");
        }
        return commands;
    }
}
