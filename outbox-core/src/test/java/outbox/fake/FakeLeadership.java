package outbox.fake;

import outbox.spi.Leadership;

import java.util.concurrent.atomic.AtomicInteger;

/** A leadership that the test grants and withdraws. */
public final class FakeLeadership implements Leadership {

    public volatile boolean leads = true; // result of lead
    public volatile boolean sure = true; // result of isLeader
    public volatile boolean led = true; // result of isLed
    public volatile boolean fails; // makes isLeader throw
    public final AtomicInteger asked = new AtomicInteger(); // number of calls of lead
    public final AtomicInteger sureAsked = new AtomicInteger(); // number of calls of isLeader

    @Override
    public boolean lead() {
        asked.incrementAndGet();
        return leads;
    }

    @Override
    public boolean isLeader() {
        sureAsked.incrementAndGet();
        if (fails) {
            throw new IllegalStateException("fails");
        }
        return sure;
    }

    @Override
    public boolean isLed() {
        return led;
    }

    @Override
    public void close() {}
}
