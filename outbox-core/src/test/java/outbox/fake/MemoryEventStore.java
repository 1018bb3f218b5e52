package outbox.fake;

import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.spi.EventStore;
import outbox.util.JsonCodec;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * An in-memory store that implements only the five abstract methods, as an author who knows only the specification
 * would write it.
 */
public class MemoryEventStore implements EventStore {

    /** A row of the table. */
    public record Row(OutboxEvent event, EventStatus status, int attempts, Instant availableAt, String error) {

        Row with(EventStatus next, int newAttempts, Instant due, String why) {
            return new Row(event, next, newAttempts, due, why);
        }
    }

    private final Map<String, Row> rows = new LinkedHashMap<>(); // guarded by this
    private final List<String> calls = new ArrayList<>(); // guarded by this
    private Consumer<String> beforeCall = call -> {}; // guarded by this

    @Override
    public synchronized void insertNew(Connection conn, EventEnvelope event) {
        called("insertNew " + event.eventId());
        given(event);
    }

    @Override
    public synchronized int markDone(Connection conn, String eventId) {
        called("markDone " + eventId);
        return update(eventId, row -> row.with(EventStatus.DONE, row.attempts(), row.availableAt(), row.error()));
    }

    @Override
    public synchronized int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
        called("markRetry " + eventId);
        return update(eventId, row -> row.with(EventStatus.RETRY, row.attempts() + 1, nextAt, error));
    }

    @Override
    public synchronized int markDead(Connection conn, String eventId, String error) {
        called("markDead " + eventId);
        return update(eventId, row -> row.with(EventStatus.DEAD, row.attempts(), row.availableAt(), error));
    }

    @Override
    public synchronized List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
        called("pollPending");
        return rows.values().stream()
                .filter(row -> !row.status().isTerminal())
                .filter(row -> !row.availableAt().isAfter(now)
                        && !row.event().createdAt().isAfter(now.minus(skipRecent)))
                .sorted(Comparator.comparing(row -> row.event().createdAt()))
                .limit(limit)
                .map(row -> withAttempts(row.event(), row.attempts()))
                .toList();
    }

    private static OutboxEvent withAttempts(OutboxEvent event, int attempts) {
        return new OutboxEvent(
                event.eventId(),
                event.eventType(),
                event.aggregateType(),
                event.aggregateId(),
                event.tenantId(),
                event.payloadJson(),
                event.headersJson(),
                attempts,
                event.createdAt());
    }

    private int update(String eventId, UnaryOperator<Row> change) {
        Row row = rows.get(eventId);
        if (row == null || row.status() == EventStatus.DONE) {
            return 0;
        }
        rows.put(eventId, change.apply(row));
        return 1;
    }

    protected final void called(String call) {
        synchronized (this) {
            calls.add(call);
        }
        beforeCall.accept(call);
    }

    // ---- setup and inspection by tests ----

    /** Puts a row into the table as another program might have written it. */
    public synchronized void put(OutboxEvent event, Instant availableAt) {
        rows.put(event.eventId(), new Row(event, EventStatus.NEW, event.attempts(), availableAt, ""));
    }

    /** Returns an event of the given type that is in the table. */
    public EventEnvelope given(String eventType) {
        return given(EventEnvelope.ofJson(eventType, "{}"));
    }

    public synchronized EventEnvelope given(EventEnvelope event) {
        Instant now = Instant.now();
        put(
                new OutboxEvent(
                        event.eventId(),
                        event.eventType(),
                        event.aggregateType(),
                        event.aggregateId(),
                        event.tenantId(),
                        event.payloadJson(),
                        JsonCodec.toJson(new HashMap<>(event.headers())),
                        0,
                        now),
                now);
        return event;
    }

    /** Sets an action that runs in each call, for example to fail. */
    public synchronized void beforeEachCall(Consumer<String> action) {
        beforeCall = action;
    }

    public synchronized List<String> calls() {
        return List.copyOf(calls);
    }

    public synchronized Row row(String eventId) {
        return rows.get(eventId);
    }

    public synchronized EventStatus status(String eventId) {
        return rows.get(eventId).status();
    }
}
