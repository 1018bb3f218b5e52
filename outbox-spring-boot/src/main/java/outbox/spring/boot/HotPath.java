package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.spi.Claim;
import outbox.spi.EventStore;

import java.time.Instant;

/** The hook of a writer, which is there before the dispatcher is: what is committed before the start is left to the poller. */
final class HotPath implements AfterCommitHook {

    private volatile AfterCommitHook target = AfterCommitHook.NOOP; // the lifecycle writes

    /** From now on events go there; a closed dispatcher gives back what it is still given, so it stays until the next. */
    void leadTo(AfterCommitHook hook) {
        target = hook;
    }

    @Override
    public @Nullable Claim birthClaim(int events, long bytes) {
        return target.birthClaim(events, bytes);
    }

    @Override
    public void requireStore(EventStore store) {
        target.requireStore(store);
    }

    @Override
    public boolean leavesFreeEvents() {
        return target.leavesFreeEvents();
    }

    @Override
    public void onFree(int events) {
        target.onFree(events);
    }

    @Override
    public void onCommit(EventEnvelope event) {
        target.onCommit(event);
    }

    @Override
    public void onCommit(EventEnvelope event, @Nullable Claim claim) {
        target.onCommit(event, claim);
    }

    @Override
    public void onScheduled(Instant availableAt) {
        target.onScheduled(availableAt);
    }
}
