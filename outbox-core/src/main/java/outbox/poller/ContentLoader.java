package outbox.poller;

import outbox.internal.SqlErrors;
import outbox.internal.StoreAccess;
import outbox.model.OutboxEvent;
import outbox.poller.EventSource.Found;
import outbox.spi.ClaimedEvent;
import outbox.spi.ErrorText;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;

/** Reads the content that a claim did not read, within a memory limit. */
final class ContentLoader {

    private static final int HEAP_PART = 8; // one claim may read at most this fraction of the heap
    // limit for one statement, because drivers keep a second copy while they read
    private static final long GROUP_BYTES = 4L << 20;

    private final StoreAccess access;
    private final LeasingEventStore store;
    private final LongSupplier byteRoom;

    ContentLoader(StoreAccess access, LeasingEventStore store, LongSupplier byteRoom) {
        this.access = access;
        this.store = store;
        this.byteRoom = byteRoom;
    }

    /**
     * Reads the missing content of claimed events, in the transaction of the claim. Reads the events in order until
     * the memory limit, but at least one. Releases the remaining events, except those with a fault. Events with a
     * fault need no content, and they must not be released: the fault may be an invalid lock, and the claim has
     * overwritten it.
     */
    List<Found> complete(Connection connection, List<ClaimedEvent> events) {
        List<String> large = events.stream()
                .filter(event -> !event.complete())
                .map(event -> event.event().eventId())
                .toList();
        if (large.isEmpty()) {
            return found(events, Map.of());
        }
        Map<String, Long> sizes = store.sizes(connection, large);
        List<ClaimedEvent> kept = new ArrayList<>(fitting(events, sizes));
        List<ClaimedEvent> released = new ArrayList<>();
        for (ClaimedEvent event : events.subList(kept.size(), events.size())) {
            (event.event().fault() == null ? released : kept).add(event);
        }
        release(connection, released);
        return found(kept, load(connection, kept, sizes));
    }

    private List<ClaimedEvent> fitting(List<ClaimedEvent> events, Map<String, Long> sizes) {
        long room = Math.min(byteRoom.getAsLong(), Runtime.getRuntime().maxMemory() / HEAP_PART);
        long bytes = 0;
        for (int i = 0; i < events.size(); i++) {
            bytes += sizes.getOrDefault(events.get(i).event().eventId(), 0L);
            if (bytes > room && i > 0) {
                return events.subList(0, i);
            }
        }
        return events;
    }

    private void release(Connection connection, List<ClaimedEvent> events) {
        if (events.isEmpty()) {
            return;
        }
        String token = events.get(0).claim().token(); // all events of a batch have the same claim
        store.release(connection, token, ids(events, false));
        List<String> suspects = ids(events, true);
        if (!suspects.isEmpty()) {
            store.releaseSuspects(connection, token, suspects);
        }
    }

    private static List<String> ids(List<ClaimedEvent> events, boolean suspects) {
        return events.stream()
                .filter(event -> event.suspect() == suspects)
                .map(event -> event.event().eventId())
                .toList();
    }

    private Map<String, OutboxEvent> load(Connection connection, List<ClaimedEvent> events, Map<String, Long> sizes) {
        Map<String, OutboxEvent> loaded = new HashMap<>();
        List<String> group = new ArrayList<>();
        long bytes = 0;
        for (ClaimedEvent event : events) {
            if (!event.complete()) {
                group.add(event.event().eventId());
                bytes += sizes.getOrDefault(event.event().eventId(), 0L);
                if (bytes > GROUP_BYTES) {
                    loadGroup(connection, group, loaded);
                    bytes = 0;
                }
            }
        }
        loadGroup(connection, group, loaded);
        return loaded;
    }

    private void loadGroup(Connection connection, List<String> group, Map<String, OutboxEvent> loaded) {
        if (!group.isEmpty()) {
            store.load(connection, group).forEach(row -> loaded.put(row.eventId(), row));
            group.clear();
        }
    }

    /**
     * Combines the events with the loaded rows. Leaves out events that were deleted from the table since the claim.
     */
    private static List<Found> found(List<ClaimedEvent> events, Map<String, OutboxEvent> loaded) {
        List<Found> found = new ArrayList<>();
        for (ClaimedEvent event : events) {
            OutboxEvent row =
                    event.complete() ? event.event() : loaded.get(event.event().eventId());
            if (row != null) {
                found.add(new Found(row, event.claim(), event.suspect()));
            }
        }
        return found;
    }

    /**
     * Reads events of which only the ids are known. If this fails, reads each half separately, until the row that
     * cannot be read is found. That event is returned with a fault.
     */
    List<Found> oneByOne(List<ClaimedEvent> events) {
        if (events.isEmpty()) {
            return List.of();
        }
        List<String> ids = events.stream().map(event -> event.event().eventId()).toList();
        try {
            Map<String, ClaimedEvent> byId = new HashMap<>();
            events.forEach(event -> byId.put(event.event().eventId(), event));
            return access
                    .inTransaction("read " + ids.size() + " events", connection -> store.load(connection, ids))
                    .stream()
                    .map(row -> found(row, Objects.requireNonNull(byId.get(row.eventId()))))
                    .toList();
        } catch (RuntimeException | Error e) {
            if (!SqlErrors.isUnreadable(e)) {
                throw e;
            }
            if (events.size() == 1) {
                OutboxEvent row = OutboxEvent.unread(ids.get(0)).withFault("It cannot be read: " + ErrorText.of(e));
                return List.of(found(row, events.get(0)));
            }
            int half = events.size() / 2;
            List<Found> found = new ArrayList<>(oneByOne(events.subList(0, half)));
            found.addAll(oneByOne(events.subList(half, events.size())));
            return found;
        }
    }

    /** Keeps a fault that the claim has found. */
    private static Found found(OutboxEvent row, ClaimedEvent claimed) {
        String fault = claimed.event().fault();
        return new Found(fault == null ? row : row.withFault(fault), claimed.claim(), claimed.suspect());
    }
}
