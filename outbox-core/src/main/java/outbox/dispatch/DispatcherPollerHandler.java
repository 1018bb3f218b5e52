package outbox.dispatch;

import outbox.EventEnvelope;
import outbox.spi.OutboxPollerHandler;
import outbox.spi.PollerNeeds;

import java.util.Objects;

/** The cold path: passes events that a poller found to the cold queue of a dispatcher, as long as there is room. */
public final class DispatcherPollerHandler implements OutboxPollerHandler {

    private final OutboxDispatcher dispatcher;

    public DispatcherPollerHandler(OutboxDispatcher dispatcher) {
        this.dispatcher = Objects.requireNonNull(dispatcher, "dispatcher");
    }

    @Override
    public boolean handle(EventEnvelope event, int attempts) {
        return dispatcher.enqueueCold(new QueuedEvent(event, QueuedEvent.Source.COLD, attempts));
    }

    @Override
    public boolean hasCapacity() {
        return dispatcher.hasColdQueueCapacity();
    }

    @Override
    public PollerNeeds needs() {
        return dispatcher.needs();
    }
}
