package outbox.testing;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.admin.EventAdministration;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.model.EventStatus;
import outbox.registry.ListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.LeasingEventStore;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/** Reads the events of an outbox for a test, including those of the current transaction of the calling thread. */
final class WrittenEvents {

    private static final Instant FAR = Instant.parse("9000-01-01T00:00:00Z");
    private static final int PAGE = EventQuery.MAX_PAGE_SIZE;

    private final LeasingEventStore store;
    private final EventAdministration admin;
    private final ConnectionProvider connections;
    private final TxContext txContext;
    private final ListenerRegistry listeners;
    private final DeliveryWatch watch;

    WrittenEvents(
            LeasingEventStore store,
            ConnectionProvider connections,
            TxContext txContext,
            ListenerRegistry listeners,
            DeliveryWatch watch) {
        this.store = store;
        this.admin = EventAdministration.of(store);
        this.connections = connections;
        this.txContext = txContext;
        this.listeners = listeners;
        this.watch = watch;
    }

    private interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /** Returns all events, oldest first. Events that were deleted after delivery come before the others. */
    List<WrittenEvent> all() {
        List<WrittenEvent> all = new ArrayList<>();
        for (DeliveryWatch.Removed event : watch.removedEvents()) {
            all.add(written(event));
        }
        all.addAll(read(connection -> {
            List<WrittenEvent> rows = new ArrayList<>();
            for (EventSummary summary : summaries(connection, EventFilter.all())) {
                admin.find(connection, summary.eventId()).map(this::written).ifPresent(rows::add);
            }
            return rows;
        }));
        return all;
    }

    Optional<WrittenEvent> byId(String eventId) {
        DeliveryWatch.Removed removed = watch.removedEvent(eventId);
        return removed != null
                ? Optional.of(written(removed))
                : read(connection -> admin.find(connection, eventId).map(this::written));
    }

    /** Returns those of the given events that a claim holds. */
    List<EventSummary> held(Collection<String> eventIds) {
        return own(connection -> summaries(connection, EventFilter.ids(eventIds)).stream()
                .filter(event -> event.lockedBy() != null)
                .toList());
    }

    /** Returns the earliest due time of an unfinished event after the given time. */
    Optional<Instant> nextDue(Instant after) {
        EventFilter unfinished =
                EventFilter.builder().status(EventStatus.NEW, EventStatus.RETRY).build();
        return own(connection -> summaries(connection, unfinished).stream()
                .map(EventSummary::availableAt)
                .filter(due -> due.isAfter(after))
                .min(Instant::compareTo));
    }

    /** Returns the database time plus the offset of the test clock. */
    Instant now() {
        return own(store::now);
    }

    /** Deletes all events. */
    void clear() {
        own(connection -> {
            List<String> ids = new ArrayList<>();
            for (EventSummary event : summaries(connection, EventFilter.all())) {
                boolean done = event.statusCode() == EventStatus.DONE.code();
                if (!done && event.statusCode() != EventStatus.DEAD.code()) {
                    store.markDead(connection, event.eventId(), "The test is over");
                }
                if (!done) {
                    ids.add(event.eventId());
                }
            }
            for (int start = 0; start < ids.size(); start += PAGE) {
                admin.discard(connection, ids.subList(start, Math.min(ids.size(), start + PAGE)));
            }
            while (admin.purge(connection, EventStatus.DONE, FAR, PAGE) == PAGE) {
                // repeat until none is left
            }
            return ids;
        });
    }

    private List<EventSummary> summaries(Connection connection, EventFilter filter) {
        List<EventSummary> all = new ArrayList<>();
        EventQuery query = EventQuery.builder()
                .filter(filter)
                .order(EventQuery.Order.OLDEST_FIRST)
                .pageSize(PAGE)
                .build();
        List<EventSummary> page = admin.find(connection, query);
        all.addAll(page);
        while (page.size() == PAGE) {
            page = admin.find(connection, query.after(page.get(PAGE - 1).cursor()));
            all.addAll(page);
        }
        return all;
    }

    private WrittenEvent written(EventDetails details) {
        EventEnvelope envelope = EventEnvelope.restore(details.event());
        EventSummary summary = details.summary();
        return new WrittenEvent(
                envelope,
                EventStatus.of(summary.statusCode()),
                summary.attempts(),
                summary.availableAt(),
                details.lastError(),
                listenerOf(envelope));
    }

    private WrittenEvent written(DeliveryWatch.Removed event) {
        EventEnvelope envelope = event.envelope();
        return new WrittenEvent(
                envelope, EventStatus.DONE, event.attempts(), envelope.occurredAt(), null, listenerOf(envelope));
    }

    private @Nullable String listenerOf(EventEnvelope event) {
        EventListener listener = listeners.listenerFor(event.aggregateType(), event.eventType());
        if (listener == null) {
            return null;
        }
        String name = listener.listenerName();
        return name != null ? name : event.aggregateType() + ":" + event.eventType();
    }

    private <T> T read(Work<T> work) {
        if (!txContext.isTransactionActive()) {
            return own(work);
        }
        try {
            return work.on(txContext.currentConnection());
        } catch (SQLException e) {
            throw new IllegalStateException("Cannot read the outbox: " + e.getMessage(), e);
        }
    }

    /** Runs the work in its own transaction. */
    private <T> T own(Work<T> work) {
        try (Connection connection = connections.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            connection.setAutoCommit(false);
            try {
                store.prepare(connection);
                T answer = work.on(connection);
                connection.commit();
                return answer;
            } finally {
                connection.rollback(); // has no effect after the commit
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            throw new IllegalStateException("Cannot use the outbox: " + e.getMessage(), e);
        }
    }
}
