package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** An index is missing, or was left invalid by a build that failed: every claim then reads the whole table. */
final class IndexCheck implements Check {

    /** What an index is for, and how it may begin. */
    private record Need(String purpose, List<List<String>> beginnings) {}

    @Override
    public String name() {
        return "index";
    }

    @Override
    public List<Finding> look(Examination examination) throws SQLException {
        List<Index> indexes = Index.of(examination);
        List<Finding> findings = new ArrayList<>();
        for (Need need : needs(examination)) {
            if (indexes.stream().noneMatch(index -> index.isValid() && serves(index, need))) {
                findings.add(finding(
                        "Table " + examination.table() + " has no index for " + need.purpose() + ", such as on ("
                                + String.join(", ", need.beginnings().get(0)) + ").",
                        "Create the index that outbox schema print shows; on PostgreSQL with CREATE INDEX CONCURRENTLY,"
                                + " so that writers go on."));
            }
        }
        indexes.stream()
                .filter(index -> !index.isValid())
                .forEach(index -> findings.add(finding(
                        "Index " + index.name() + " of " + examination.table()
                                + " is invalid: its build failed, and no query uses it.",
                        "Run: DROP INDEX CONCURRENTLY " + index.name() + "; then create it again.")));
        return findings;
    }

    private static boolean serves(Index index, Need need) {
        return need.beginnings().stream().anyMatch(index::startsWith);
    }

    private static List<Need> needs(Examination examination) {
        List<Need> needs = new ArrayList<>();
        needs.add(new Need("finding an event by its id", List.of(List.of("event_id"))));
        needs.add(
                examination.isPostgres()
                        ? new Need(
                                "the claim",
                                List.of(
                                        List.of(
                                                "available_at",
                                                examination.columns().order()),
                                        List.of("status", "available_at")))
                        : new Need("the claim", List.of(List.of("status", "available_at"))));
        if (examination.queries().hasColumn("seq")) {
            needs.add(new Need(
                    "the order of an aggregate", List.of(List.of("aggregate_type", "aggregate_id", "status", "seq"))));
        }
        if (examination.queries().hasColumn("expires_at")) {
            needs.add(new Need("keys of events", List.of(List.of("dedup_key"), List.of("dedup_slot"))));
            needs.add(new Need("priorities", List.of(List.of("priority"), List.of("priority_slot"))));
            needs.add(new Need("deadlines", List.of(List.of("expires_at"), List.of("status", "expires_at"))));
        }
        return needs;
    }
}
