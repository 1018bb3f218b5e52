package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;
import outbox.spi.EventStore;

import java.time.Instant;

/**
 * Told about each event after its transaction committed; connects the hot path or an external notifier.
 *
 * <p>It runs on the committing thread, so it must be quick and do no I/O. What it throws is logged and goes no further: the transaction has committed.
 */
@FunctionalInterface
public interface AfterCommitHook {

    /** Does nothing: events are left to the poller or to change data capture. */
    AfterCommitHook NOOP = event -> {};

    void onCommit(EventEnvelope event);

    /**
     * Refuses the store of a writer if its events are not for this hook. Called when the writer is made.
     *
     * @throws IllegalArgumentException if the store is certainly another one; nothing is refused by default
     */
    default void requireStore(EventStore store) {}

    /**
     * The claim under which the events of a write are inserted, so that they are born leased to the one who will be told
     * about them; {@code null}, the default, leaves them free for any poller. Asked once per write, before the insert.
     *
     * @param events how many events the transaction has with a claim, including those of this write
     * @param bytes how many bytes of payload they have
     */
    default @Nullable Claim birthClaim(int events, long bytes) {
        return null;
    }

    /** Like {@link #onCommit(EventEnvelope)}, for an event that was inserted under the given {@link #birthClaim}. */
    default void onCommit(EventEnvelope event, @Nullable Claim claim) {
        onCommit(event);
    }

    /** Told, instead of the above, that an event was committed which becomes due at the given time of the database's clock. Does nothing by default: pollers find such events. */
    default void onScheduled(Instant availableAt) {}

    /**
     * Whether events that were inserted without a claim are left to pollers. Then {@link #onFree} is called once for
     * each write instead of {@link #onCommit} for each event, and the writer keeps no event until the commit.
     */
    default boolean leavesFreeEvents() {
        return false;
    }

    /** Told that so many events were committed that any poller may take. Does nothing by default. */
    default void onFree(int events) {}
}
