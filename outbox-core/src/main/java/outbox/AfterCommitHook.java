package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;
import outbox.spi.EventStore;

import java.time.Instant;

/**
 * Receives each event after its transaction has committed. It connects the hot path or an external notifier.
 *
 * <p>The hook runs on the committing thread, so it must be fast and must not do I/O. Exceptions are logged and not
 * passed on, because the transaction has already committed.
 */
@FunctionalInterface
public interface AfterCommitHook {

    /** Does nothing. A poller or change data capture delivers the events. */
    AfterCommitHook NOOP = event -> {};

    void onCommit(EventEnvelope event);

    /**
     * Rejects a writer whose store does not belong to this hook. Called when the writer is created.
     *
     * @throws IllegalArgumentException if the writer certainly uses a different store; by default no store
     * is rejected
     */
    default void requireStore(EventStore store) {}

    /**
     * Returns the claim under which the events of a write are inserted. The events are then leased from the start to
     * the dispatcher that this hook notifies. With {@code null}, the default, any poller may claim them. Called once
     * per write, before the insert.
     *
     * @param events the number of events that the transaction wrote under a claim, including those of this write
     * @param bytes the total payload size of these events in bytes
     */
    default @Nullable Claim birthClaim(int events, long bytes) {
        return null;
    }

    /** Like {@link #onCommit(EventEnvelope)}, for an event that was inserted under the given {@link #birthClaim}. */
    default void onCommit(EventEnvelope event, @Nullable Claim claim) {
        onCommit(event);
    }

    /**
     * Called instead of {@code onCommit} when an event was committed that becomes due at the given time of the
     * database clock. Does nothing by default, because pollers find such events.
     */
    default void onScheduled(Instant availableAt) {}

    /**
     * Whether events that were inserted without a claim are left to pollers. If so, {@link #onFree} is called
     * once per write instead of {@link #onCommit} once per event, and the writer does not keep the events until
     * the commit.
     */
    default boolean leavesFreeEvents() {
        return false;
    }

    /**
     * Called when this number of events was committed without a claim, so that any poller may take them. Does
     * nothing by default.
     */
    default void onFree(int events) {}
}
