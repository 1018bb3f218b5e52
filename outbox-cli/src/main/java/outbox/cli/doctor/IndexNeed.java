package outbox.cli.doctor;

import java.util.ArrayList;
import java.util.List;

/**
 * An index that a table needs.
 *
 * @param purpose what is slow without it
 * @param beginnings the columns that it may begin with, the usual ones first
 * @param isUnique whether it must keep a value from coming twice
 * @param isForControl whether it is for events that use delivery control alone, wherever those are
 */
record IndexNeed(String purpose, List<List<String>> beginnings, boolean isUnique, boolean isForControl) {

    /** A second event with the id of another would be marked with it. */
    static IndexNeed ofEventId() {
        return new IndexNeed("finding an event by its id", List.of(List.of("event_id")), true, false);
    }

    static IndexNeed of(String purpose, List<String> usual) {
        return new IndexNeed(purpose, List.of(usual), false, false);
    }

    static IndexNeed of(String purpose, List<String> usual, List<String> other) {
        return new IndexNeed(purpose, List.of(usual, other), false, false);
    }

    private IndexNeed forControl() {
        return new IndexNeed(purpose, beginnings, isUnique, true);
    }

    boolean isServedBy(Index index) {
        return index.isValid()
                && (index.isUnique() || !isUnique)
                && beginnings.stream().anyMatch(index::startsWith);
    }

    String usual() {
        return String.join(", ", beginnings.get(0));
    }

    /** Of the table that the library ships, with the features that it has. */
    static List<IndexNeed> ofEvents(boolean isPostgres, Queries table) {
        List<IndexNeed> needs = new ArrayList<>();
        needs.add(IndexNeed.ofEventId());
        needs.add(
                isPostgres
                        ? IndexNeed.of(
                                "the claim", List.of("available_at", "created_at"), List.of("status", "available_at"))
                        : IndexNeed.of("the claim", List.of("status", "available_at")));
        if (table.hasColumn("seq")) {
            needs.add(IndexNeed.of(
                    "the order of an aggregate", List.of("aggregate_type", "aggregate_id", "status", "seq")));
        }
        if (table.hasColumn("expires_at")) {
            needs.add(IndexNeed.of("priorities", List.of("priority"), List.of("priority_slot"))
                    .forControl());
            needs.add(IndexNeed.of("deadlines", List.of("expires_at"), List.of("status", "expires_at"))
                    .forControl());
        }
        return needs;
    }
}
