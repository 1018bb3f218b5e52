package outbox.reconcile;

import outbox.EventEnvelope;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A batch that was looked at.
 *
 * @param found what is counted, and where the next batch begins
 * @param sure those of its events that may be written
 */
record Look(Found found, List<EventEnvelope> sure) {

    static Look once(Found found) {
        return new Look(found, found.events());
    }

    /**
     * Whether the second look has passed all that was missing in the first: what it does not name then is not missing any more. It has if both ended at the same place, or the second at the end of
     * the window. Otherwise an event that both name tells, since the order is fixed: the second look has passed all before that.
     */
    static boolean isComplete(Found first, Set<String> missing, Found second) {
        if (!second.hasMore() || Objects.equals(first.checkpoint(), second.checkpoint())) {
            return true;
        }
        Set<String> seen = second.events().stream().map(EventEnvelope::eventId).collect(Collectors.toSet());
        for (int i = first.events().size() - 1; i >= 0; i--) {
            String id = first.events().get(i).eventId();
            if (seen.contains(id)) {
                return true;
            }
            if (missing.contains(id)) {
                return false;
            }
        }
        return true;
    }
}
