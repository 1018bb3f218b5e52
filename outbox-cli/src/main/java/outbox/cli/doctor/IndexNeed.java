package outbox.cli.doctor;

import java.util.ArrayList;
import java.util.List;

/**
 * An index that a table needs.
 *
 * @param purpose what is slow without it
 * @param beginnings alternative leading columns, the usual ones first
 * @param isUnique whether it must be unique
 */
record IndexNeed(String purpose, List<List<String>> beginnings, boolean isUnique) {

    /** Without this index two events could have the same id, and a mark would change both. */
    static IndexNeed ofEventId() {
        return new IndexNeed("finding an event by its id", List.of(List.of("event_id")), true);
    }

    static IndexNeed of(String purpose, List<String> usual) {
        return new IndexNeed(purpose, List.of(usual), false);
    }

    static IndexNeed of(String purpose, List<String> usual, List<String> other) {
        return new IndexNeed(purpose, List.of(usual, other), false);
    }

    boolean isServedBy(Index index) {
        return index.isValid()
                && (index.isUnique() || !isUnique)
                && beginnings.stream().anyMatch(index::startsWith);
    }

    String usual() {
        return String.join(", ", beginnings.get(0));
    }

    /** The indexes of a table of layout EVENT with its features. */
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
        if (table.hasColumn("priority")) {
            needs.add(IndexNeed.of("priorities", List.of("priority"), List.of("priority_slot")));
        }
        if (table.hasColumn("expires_at")) {
            needs.add(IndexNeed.of("deadlines", List.of("expires_at"), List.of("status", "expires_at")));
        }
        return needs;
    }
}
