package outbox;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;

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
     * The claim under which events are inserted, so that they are born leased to the one who will be told about them; {@code null}, the default, leaves them free for
     * any poller. Asked once per write, before the insert.
     */
    default @Nullable Claim birthClaim() {
        return null;
    }

    /** Like {@link #onCommit(EventEnvelope)}, for an event that was inserted under the given claim of {@link #birthClaim()}. */
    default void onCommit(EventEnvelope event, @Nullable Claim claim) {
        onCommit(event);
    }

    /** Told, instead of the above, that an event was committed which becomes due at the given time of the database's clock. Does nothing by default: pollers find such events. */
    default void onScheduled(Instant availableAt) {}
}
