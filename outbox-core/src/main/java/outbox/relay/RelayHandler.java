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
import java.util.concurrent.TimeUnit;

/**
 * What a relay does around each poll: asks for the lead, and writes into each envelope where it comes from. A cycle without the lead takes nothing.
 *
 * <p>Called under the lock of the poller.
 */
final class RelayHandler implements OutboxPollerHandler {

    private static final long SETTLING_NANOS = TimeUnit.MILLISECONDS.toNanos(100); // more than clocks are unsure about

    private final OutboxPollerHandler next;
    private final String table;
    private final @Nullable Leadership leadership;
    private boolean leads; // poller's lock, as the next
    private long termNanos; // since when
    private @Nullable OutboxPoller poller; // set once, when it is built

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
        return lead() && isSettled() && next.hasCapacity();
    }

    /** A term begins with a short wait: what was claimed before it must be older, for sure, than anything that is claimed in it. */
    private boolean isSettled() {
        long left = leadership == null ? 0 : SETTLING_NANOS - (System.nanoTime() - termNanos);
        if (left > 0 && poller != null) {
            poller.wakeAfter(Duration.ofNanos(left));
        }
        return left <= 0;
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
        return leads ? Duration.ofNanos(System.nanoTime() - termNanos - SETTLING_NANOS) : null;
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
    public void attached(OutboxPoller built) {
        poller = built;
        next.attached(built);
    }
}
