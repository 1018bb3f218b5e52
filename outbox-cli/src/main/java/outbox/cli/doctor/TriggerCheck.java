package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds triggers and rules that may suppress or change the writes of a relay. Other triggers are reported as notes.
 */
final class TriggerCheck extends Check {

    private static final int BEFORE = 2; // bits of pg_trigger.tgtype
    private static final int DELETE = 8;
    private static final int UPDATE = 16;
    private static final int INSTEAD = 64;

    TriggerCheck() {
        super("trigger", false);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        if (!examination.isPostgres()) {
            inOthers(examination, findings);
            return findings;
        }
        // Binds: table. States 'O' and 'A' fire. A trigger that a partition inherits from its parent is left out.
        String triggers = """
                SELECT t.tgrelid::regclass::text, t.tgname, t.tgtype, t.tgfoid::regproc::text
                  FROM pg_trigger t
                 WHERE t.tgrelid IN %s
                   AND NOT t.tgisinternal
                   AND t.tgparentid = 0
                   AND t.tgenabled IN ('O', 'A')
                   AND (t.tgtype & 1) = 1
                 ORDER BY 1, 2
                """.formatted(Examination.TREE);
        for (List<@Nullable String> row : examination.queries().rows(triggers, examination.table())) {
            int type = Integer.parseInt(String.valueOf(row.get(2)));
            boolean isBefore = (type & (BEFORE | INSTEAD)) != 0;
            boolean isOfMarks = (type & (UPDATE | DELETE)) != 0;
            String calls = ", which calls " + row.get(3);
            add(examination, findings, row, isBefore && isOfMarks, calls, "DISABLE TRIGGER");
        }
        // Binds: table.
        String rules = """
                SELECT r.ev_class::regclass::text, r.rulename
                  FROM pg_rewrite r
                 WHERE r.ev_class IN %s
                   AND r.ev_type IN ('2', '3', '4')
                   AND r.ev_enabled IN ('O', 'A')
                   AND r.is_instead
                 ORDER BY 1, 2
                """.formatted(Examination.TREE);
        for (List<@Nullable String> row : examination.queries().rows(rules, examination.table())) {
            add(examination, findings, row, true, ", a rule that runs instead", "DISABLE RULE");
        }
        return findings;
    }

    private void add(
            Examination examination,
            List<Finding> findings,
            List<@Nullable String> row,
            boolean isProblem,
            String what,
            String disable) {
        String table = String.valueOf(row.get(0));
        String name = Quoted.identifier(String.valueOf(row.get(1)), false);
        if (isProblem) {
            findings.add(finding(
                    "Table " + table + " has " + name + what
                            + ": it may swallow or change claims and marks, and then events are delivered for"
                            + " ever or never.",
                    "Take it off the table, or disable it. What must follow an event belongs into an AFTER trigger.",
                    "ALTER TABLE " + table + " " + disable + " " + name + ";"));
        } else {
            examination.notes().add("Table " + table + " has the trigger " + name + what + ".");
        }
    }

    /** Checks the triggers that the user may see. */
    private void inOthers(Examination examination, List<Finding> findings) throws SQLException {
        String sql = """
                SELECT trigger_name, action_timing, event_manipulation
                  FROM information_schema.triggers
                 WHERE action_orientation = 'ROW'
                   AND %s
                 ORDER BY trigger_name
                """.formatted(examination.isOf(examination.table(), "event_object_schema", "event_object_table"));
        for (List<@Nullable String> row : examination.queries().rows(sql)) {
            String name = examination.identifier(String.valueOf(row.get(0)));
            String event = String.valueOf(row.get(2));
            String what =
                    "Table " + examination.table() + " has the trigger " + name + " (" + row.get(1) + " " + event + ")";
            boolean isOfMarks = event.contains("UPDATE") || event.contains("DELETE");
            if (isOfMarks && !"AFTER".equals(row.get(1))) {
                findings.add(finding(
                        what
                                + ": it may change or refuse claims and marks, and then events are delivered"
                                + " for ever or never.",
                        "Drop it. What must follow an event belongs into an AFTER trigger.",
                        "DROP TRIGGER " + name + ";"));
            } else {
                examination.notes().add(what + ".");
            }
        }
    }
}
