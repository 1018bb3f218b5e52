package outbox.reconcile;

import outbox.EventEnvelope;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The result of searching one batch.
 *
 * @param found the facts that are counted, and where the next batch begins
 * @param sure the events that may be written
 */
record Look(Found found, List<EventEnvelope> sure) {

    static Look once(Found found) {
        return new Look(found, found.events());
    }

    /**
     * Returns whether the second search has covered all events that were missing after the first one. If so, an
     * event that the second search does not return is no longer missing. The second search is complete if both
     * searches ended at the same checkpoint, or if the second one reached the end of the window. Otherwise the
     * last event that both returned decides: because the order is fixed, the second search has covered
     * everything before it.
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
