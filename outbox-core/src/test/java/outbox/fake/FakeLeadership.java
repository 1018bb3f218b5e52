package outbox.fake;

import outbox.spi.Leadership;

import java.util.concurrent.atomic.AtomicInteger;

/** A leadership that the test gives and takes. */
public final class FakeLeadership implements Leadership {

    public volatile boolean leads = true; // what lead answers
    public volatile boolean sure = true; // what isLeader answers
    public volatile boolean led = true; // what isLed answers
    public volatile boolean fails; // isLeader does
    public final AtomicInteger asked = new AtomicInteger(); // to lead
    public final AtomicInteger sureAsked = new AtomicInteger();

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
