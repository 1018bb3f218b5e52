package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.model.OutboxEvent;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.poller.OutboxPollerHandler;
import outbox.spi.Leadership;
import outbox.spi.Withheld;
import outbox.util.JsonCodec;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Writes into each envelope of a relay where it comes from.
 *
 * <p>Called under the lock of the poller.
 */
final class RelayHandler implements OutboxPollerHandler {

    private final OutboxPollerHandler next;
    private final String table;

    RelayHandler(OutboxPollerHandler next, String table) {
        this.next = next;
        this.table = table;
    }

    @Override
    public boolean handle(EventEnvelope event, int attempts) {
        return next.handle(described(event, attempts), attempts);
    }

    /** The same event, with what {@link Meta} knows as headers. */
    private EventEnvelope described(EventEnvelope event, int attempts) {
        Map<String, String> headers = new LinkedHashMap<>(event.headers());
        headers.put(Meta.TABLE_HEADER, table);
        headers.put(Meta.ATTEMPTS_HEADER, Integer.toString(attempts + 1));
        return EventEnvelope.restore(new OutboxEvent(
                event.eventId(),
                event.eventType(),
                event.aggregateType(),
                event.aggregateId(),
                event.tenantId(),
                event.isBinary() ? "" : event.payloadJson(),
                JsonCodec.toJson(new LinkedHashMap<>(headers)),
                attempts,
                event.occurredAt(),
                event.occurredAt(),
                event.isBinary() ? event.payloadBytes() : null,
                null,
                event.dedupKey(),
                event.dedupFor(),
                event.priority(),
                event.expiresAt()));
    }

    @Override
    public boolean hasCapacity() {
        return next.hasCapacity();
    }

    @Override
    public @Nullable Leadership leadership() {
        return next.leadership();
    }

    @Override
    public int room() {
        return next.room();
    }

    @Override
    public long byteRoom() {
        return next.byteRoom();
    }

    @Override
    public int suspectRoom() {
        return next.suspectRoom();
    }

    @Override
    public Ordering ordering() {
        return next.ordering();
    }

    @Override
    public Withheld withheld() {
        return next.withheld();
    }

    @Override
    public @Nullable Duration untakenLimit() {
        return next.untakenLimit();
    }

    @Override
    public void attached(OutboxPoller poller) {
        next.attached(poller);
    }
}
