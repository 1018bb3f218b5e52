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
 * What a relay does around each poll: asks for the lead, and writes into each envelope where it comes from. A cycle without the lead takes nothing.
 *
 * <p>Called under the lock of the poller.
 */
final class RelayHandler implements OutboxPollerHandler {

    private final OutboxPollerHandler next;
    private final String table;
    private final @Nullable Leadership leadership;
    private boolean leads; // poller's lock, as the next
    private long termNanos; // since when

    RelayHandler(OutboxPollerHandler next, String table, @Nullable Leadership leadership) {
        this.next = next;
        this.table = table;
        this.leadership = leadership;
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

    /** Asked once per cycle, before anything is claimed. */
    @Override
    public boolean hasCapacity() {
        return lead() && next.hasCapacity();
    }

    private boolean lead() {
        if (leadership == null) {
            return true;
        }
        boolean before = leads;
        leads = false; // if it fails, the next cycle begins a new term
        boolean now = leadership.lead();
        if (now && !before) {
            termNanos = System.nanoTime();
        }
        leads = now;
        return now;
    }

    /** What others claimed before this term is over at once: they lead no more, and their marks name claims that are gone. */
    @Override
    public @Nullable Duration soleFor() {
        return leads ? Duration.ofNanos(System.nanoTime() - termNanos) : null;
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
