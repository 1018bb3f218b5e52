package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.spi.Leadership;
import outbox.spi.OutboxPollerHandler;
import outbox.spi.Withheld;

import java.time.Duration;
import java.util.Objects;

/** The cold path: hands what a poller found to the cold queue of a dispatcher, as far as there is room. */
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
    public int room() {
        return dispatcher.coldRoom();
    }

    @Override
    public long byteRoom() {
        return dispatcher.byteRoom();
    }

    @Override
    public int suspectRoom() {
        return dispatcher.suspectRoom();
    }

    @Override
    public Ordering ordering() {
        return dispatcher.ordering();
    }

    @Override
    public Withheld withheld() {
        return dispatcher.withheld();
    }

    @Override
    public @Nullable Duration untakenLimit() {
        return dispatcher.untakenLimit();
    }

    @Override
    public @Nullable Leadership leadership() {
        return dispatcher.leadership();
    }

    @Override
    public void attached(OutboxPoller poller) {
        dispatcher.attach(poller.lockTimeout(), poller::wake);
        dispatcher.tellWhenDue(poller::wakeAt, poller::wakeAfter);
    }
}
