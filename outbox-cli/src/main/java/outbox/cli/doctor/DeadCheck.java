package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;

import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Finds dead events, which no relay tries again by itself. It leaves out events that the route check explains. */
final class DeadCheck extends Check {

    private static final int MOST = 5_000; // events that are counted and grouped
    private static final int GROUPS = 3;
    private static final int SHOWN = 120;
    private static final String VARIABLE = "[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9]+";

    /** Events with the same type and the same error, ignoring numbers in the error. */
    private static final class Group {
        private final String type;
        private final String error; // of one event of the group
        private int count;

        Group(String type, String error) {
            this.type = type;
            this.error = error;
        }

        /** The common prefix of all errors of the group. */
        String beginning() {
            String start = error.split(VARIABLE + "|[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]", 2)[0];
            return start.substring(0, Math.min(start.length(), SHOWN)).strip();
        }
    }

    DeadCheck() {
        super("dead", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        TableKind kind = examination.kind();
        String condition = kind.is(EventStatus.DEAD, examination.subject().maxAttempts())
                + (kind.hasErrors() ? " AND (last_error IS NULL OR NOT (" + RouteCheck.EXPLAINED + "))" : "");
        String sql = "SELECT SUBSTRING(%s, 1, 301), %s FROM %s WHERE %s LIMIT %d"
                .formatted(
                        kind.type(),
                        kind.hasErrors() ? "SUBSTRING(last_error, 1, 300)" : "NULL",
                        examination.table(),
                        condition,
                        MOST);
        List<List<@Nullable String>> rows = examination.queries().rows(sql);
        if (rows.isEmpty()) {
            return List.of();
        }
        String count = String.format(Locale.ROOT, "%,d%s", rows.size(), rows.size() == MOST ? " or more" : "");
        String oldest = examination
                .queries()
                .earliest(kind.ageOf(EventStatus.DEAD), condition)
                .map(Instant::toString)
                .orElse("an unknown time");
        List<Group> groups = groups(rows);
        return List.of(finding(
                count + " events of " + examination.table() + " are dead, the oldest since " + oldest
                        + ": no relay tries them again. Most frequent: "
                        + groups.stream().map(DeadCheck::shown).collect(Collectors.joining("; ")) + ".",
                "Repair the cause, then replay what is still wanted, and discard the rest. --dry-run shows what"
                        + " would be done.",
                commands(examination, groups)));
    }

    private static List<Group> groups(List<List<@Nullable String>> rows) {
        Map<String, Group> groups = new LinkedHashMap<>();
        for (List<@Nullable String> row : rows) {
            String type = String.valueOf(row.get(0));
            String error = row.get(1) == null ? "" : String.valueOf(row.get(1));
            String key = type + "\n" + Quoted.shown(error, SHOWN).replaceAll(VARIABLE, "#");
            groups.computeIfAbsent(key, any -> new Group(type, error)).count++;
        }
        return groups.values().stream()
                .sorted(Comparator.comparingInt((Group group) -> group.count).reversed())
                .limit(GROUPS)
                .toList();
    }

    private static String shown(Group group) {
        return String.format(Locale.ROOT, "%,d", group.count) + " of type " + Quoted.shown(group.type, 60)
                + (group.error.isEmpty() ? "" : " with error \"" + Quoted.shown(group.error, SHOWN) + "\"");
    }

    private static List<String> commands(Examination examination, List<Group> groups) {
        List<String> commands = new ArrayList<>();
        commands.add(examination
                .call("list")
                .with("--status", "DEAD")
                .with("--limit", "20")
                .toString());
        for (Group group : groups) {
            OutboxCall replay = examination.call("replay");
            boolean hasType = Quoted.isUsable(group.type);
            boolean hasError = group.beginning().length() >= 8;
            if (hasType) {
                replay.with("--type", group.type);
            }
            if (hasError) {
                replay.with("--error", group.beginning());
            }
            if (hasType || hasError) {
                commands.add(replay.with("--cap", String.valueOf(group.count))
                        .with("--rate", "20")
                        .with("--reason", "the cause is repaired")
                        .toString());
            }
        }
        return commands;
    }
}
