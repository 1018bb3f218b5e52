package outbox.samples.demo;

import outbox.EventEnvelope;
import outbox.poller.OutboxPoller;
import outbox.poller.OutboxPollerHandler;

/** Notes which events came through the poller; an application has no need to know. */
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
    public boolean hasCapacity() {
        return next.hasCapacity();
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
    public void attached(OutboxPoller poller) {
        next.attached(poller);
    }
}
