package outbox.jdbc.internal.purge;

import outbox.model.EventStatus;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The ids of events that a purge may delete, found in large groups. Until the database has cleaned up, a search has
 * to skip all rows that were deleted before. With one search per batch, a purge would therefore become slower and
 * slower. The ids are only a hint: the DELETE checks whether each event may still be deleted.
 */
public final class EndedIds {

    private static final int FOUND_AT_ONCE = 10_000;

    private final Map<EventStatus, Queue<String>> found = new EnumMap<>(EventStatus.class);

    @FunctionalInterface
    public interface Search {
        List<String> find(int limit) throws SQLException;
    }

    @FunctionalInterface
    public interface Deletion {
        /** Deletes the events that may be deleted and that no claim holds. Returns their number. */
        int delete(Collection<String> eventIds) throws SQLException;
    }

    public EndedIds() {
        found.put(EventStatus.DONE, new ConcurrentLinkedQueue<>());
        found.put(EventStatus.DEAD, new ConcurrentLinkedQueue<>());
    }

    /** Deletes up to {@code limit} events with at most one search. Deletes fewer only if there are no more. */
    public int purge(EventStatus terminal, int limit, Search search, Deletion deletion) throws SQLException {
        Queue<String> ids = found.get(terminal);
        if (ids == null) {
            throw new IllegalArgumentException("Only DONE and DEAD events can be purged, not " + terminal);
        }
        int deleted = deleteFound(ids, limit, deletion);
        if (deleted < limit) {
            ids.addAll(search.find(Math.max(limit, FOUND_AT_ONCE)));
            deleted += deleteFound(ids, limit - deleted, deletion);
        }
        return deleted;
    }

    private static int deleteFound(Queue<String> ids, int limit, Deletion deletion) throws SQLException {
        int deleted = 0;
        while (deleted < limit) {
            List<String> next = take(ids, limit - deleted);
            if (next.isEmpty()) {
                break;
            }
            deleted += deletion.delete(next);
        }
        return deleted;
    }

    private static List<String> take(Queue<String> ids, int limit) {
        List<String> taken = new ArrayList<>();
        while (taken.size() < limit) {
            String id = ids.poll();
            if (id == null) {
                break;
            }
            taken.add(id);
        }
        return taken;
    }
}
