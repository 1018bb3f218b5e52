package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.spi.PollerNeeds;

import java.time.Duration;
import java.time.Instant;

/** The poller that delivers to this dispatcher. Without a poller, wake calls have no effect. */
final class AttachedPoller implements PollerNeeds.Poller {

    private volatile PollerNeeds.@Nullable Poller poller; // set when a poller is attached

    void set(PollerNeeds.Poller attached) {
        poller = attached;
    }

    boolean isPresent() {
        return poller != null;
    }

    @Override
    public @Nullable Duration lockTimeout() {
        PollerNeeds.Poller present = poller;
        return present == null ? null : present.lockTimeout();
    }

    @Override
    public void wake() {
        PollerNeeds.Poller present = poller;
        if (present != null) {
            present.wake();
        }
    }

    @Override
    public void wakeAt(Instant time) {
        PollerNeeds.Poller present = poller;
        if (present != null) {
            present.wakeAt(time);
        }
    }

    @Override
    public void wakeAfter(Duration time) {
        PollerNeeds.Poller present = poller;
        if (present != null) {
            present.wakeAfter(time);
        }
    }
}
