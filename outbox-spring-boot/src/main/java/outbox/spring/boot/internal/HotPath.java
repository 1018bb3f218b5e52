package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.spi.Claim;
import outbox.spi.EventStore;

import java.time.Instant;

/**
 * The after-commit hook of a writer. It exists before the dispatcher does. Events that are committed before the
 * start are left to the poller.
 */
final class HotPath implements AfterCommitHook {

    // written by the lifecycle thread, read by writer threads
    private volatile AfterCommitHook target = AfterCommitHook.NOOP;

    /**
     * Sends events to this hook from now on. A closed dispatcher releases the events that it still receives, so it
     * stays the target until the next start.
     */
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
