package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.internal.EnvelopeAccess;
import outbox.poller.OutboxPollerHandler;
import outbox.spi.PollerNeeds;

import java.util.LinkedHashMap;
import java.util.Map;

/** Adds headers with the table and the attempt to each event of a relay. {@link Meta} reads them. */
final class RelayHandler implements OutboxPollerHandler {

    private final OutboxPollerHandler next;
    private final String table;

    RelayHandler(OutboxPollerHandler next, String table) {
        this.next = next;
        this.table = table;
    }

    @Override
    public boolean handle(EventEnvelope event, int attempts) {
        Map<String, String> origin = new LinkedHashMap<>();
        origin.put(EventHeaders.TABLE, table);
        origin.put(EventHeaders.ATTEMPTS, Integer.toString(attempts + 1));
        return next.handle(EnvelopeAccess.get().withHeaders(event, origin), attempts);
    }

    @Override
    public boolean hasCapacity() {
        return next.hasCapacity();
    }

    @Override
    public @Nullable PollerNeeds needs() {
        return next.needs();
    }
}
