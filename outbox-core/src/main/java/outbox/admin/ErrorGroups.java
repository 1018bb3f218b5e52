package outbox.admin;

import outbox.admin.OutboxAdmin.ErrorGroup;
import outbox.model.EventStatus;

import java.sql.Connection;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Groups dead events by the fingerprints of their errors. The events are read page by page, because databases cannot
 * compute the fingerprints.
 */
final class ErrorGroups {

    private static final class Group {
        private final EventSummary example;
        private final TreeSet<String> types = new TreeSet<>();
        private Instant oldest;
        private Instant newest;
        private long count;

        Group(EventSummary first) {
            example = first;
            oldest = end(first);
            newest = oldest;
        }

        void add(EventSummary event) {
            Instant end = end(event);
            oldest = end.isBefore(oldest) ? end : oldest;
            newest = end.isAfter(newest) ? end : newest;
            types.add(event.eventType());
            count++;
        }

        private static Instant end(EventSummary event) {
            Instant doneAt = event.doneAt();
            return doneAt == null ? event.createdAt() : doneAt;
        }
    }

    private ErrorGroups() {}

    /** Returns the groups, largest first. */
    static List<ErrorGroup> read(EventAdministration store, Connection connection, EventFilter filter) {
        Map<String, Group> groups = new LinkedHashMap<>();
        forEach(
                store,
                connection,
                filter.dead(),
                EventQuery.Order.NEWEST_FIRST,
                event -> groups.computeIfAbsent(ErrorFingerprint.of(event.errorStart()), name -> new Group(event))
                        .add(event));
        List<ErrorGroup> found = new ArrayList<>();
        groups.forEach((fingerprint, group) -> {
            String error = group.example.errorStart();
            found.add(new ErrorGroup(
                    fingerprint,
                    error == null ? "" : error,
                    group.count,
                    List.copyOf(group.types),
                    group.oldest,
                    group.newest,
                    group.example.eventId()));
        });
        found.sort(Comparator.comparingLong(ErrorGroup::count).reversed().thenComparing(ErrorGroup::fingerprint));
        return List.copyOf(found);
    }

    /** Returns the ids of the events of one group, oldest first. */
    static List<String> ids(EventAdministration store, Connection connection, EventFilter filter, String fingerprint) {
        if (filter.statuses().contains(EventStatus.DONE)) {
            throw new IllegalArgumentException("errorFingerprint is for dead events; delivered ones have no error");
        }
        List<String> ids = new ArrayList<>();
        forEach(store, connection, filter, EventQuery.Order.OLDEST_FIRST, event -> {
            if (fingerprint.equals(ErrorFingerprint.of(event.errorStart()))) {
                ids.add(event.eventId());
            }
        });
        return ids;
    }

    private static void forEach(
            EventAdministration store,
            Connection connection,
            EventFilter filter,
            EventQuery.Order order,
            Consumer<EventSummary> action) {
        EventQuery query = EventQuery.builder()
                .filter(filter)
                .order(order)
                .pageSize(EventQuery.MAX_PAGE_SIZE)
                .build();
        List<EventSummary> page = store.find(connection, query);
        while (!page.isEmpty()) {
            page.forEach(action);
            page = page.size() < EventQuery.MAX_PAGE_SIZE
                    ? List.of()
                    : store.find(
                            connection, query.after(page.get(page.size() - 1).cursor()));
        }
    }
}
