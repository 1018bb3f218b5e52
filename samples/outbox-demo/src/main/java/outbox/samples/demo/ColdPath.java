package outbox.samples.demo;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.poller.OutboxPollerHandler;
import outbox.spi.PollerNeeds;

/** Records which events came through the poller. Applications do not need this. */
final class ColdPath implements OutboxPollerHandler {

    private final OutboxPollerHandler next;
    private final Ledger ledger;

    ColdPath(OutboxPollerHandler next, Ledger ledger) {
        this.next = next;
        this.ledger = ledger;
    }

    @Override
    public boolean handle(EventEnvelope event, int attempts) {
        ledger.polled(event);
        return next.handle(event, attempts);
    }

    @Override
    public @Nullable PollerNeeds needs() {
        return next.needs();
    }
}
