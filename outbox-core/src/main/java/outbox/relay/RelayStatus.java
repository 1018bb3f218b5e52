package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.DispatcherStatus;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.ProtectionStatus;
import outbox.poller.OutboxPoller;
import outbox.poller.PollerStatus;
import outbox.spi.Leadership;

import java.time.Duration;
import java.util.Objects;

/**
 * How the relay of a table is doing on this node: what a health check shows and judges. From memory, without I/O.
 *
 * @param role what this node is for the table
 */
public record RelayStatus(Role role, PollerStatus poller, DispatcherStatus dispatcher, ProtectionStatus protection) {

    /** What a node is for a table. */
    public enum Role {
        /** It delivers, and the others stand by. */
        LEADER,
        /** Another node delivers, or none does. */
        STANDBY,
        /** Any number of nodes deliver. */
        SHARED
    }

    public RelayStatus {
        Objects.requireNonNull(role, "role");
        Objects.requireNonNull(poller, "poller");
        Objects.requireNonNull(dispatcher, "dispatcher");
        Objects.requireNonNull(protection, "protection");
    }

    /** Asks the parts of a relay; without a leadership all nodes share the table. */
    public static RelayStatus of(OutboxPoller poller, OutboxDispatcher dispatcher, @Nullable Leadership leadership) {
        Role role = leadership == null ? Role.SHARED : leadership.isLeader() ? Role.LEADER : Role.STANDBY;
        return new RelayStatus(role, poller.status(), dispatcher.status(), dispatcher.protectionStatus());
    }

    /**
     * Why the relay does not do its work: it does not run, has not looked at the table, has no worker left, or cannot
     * write outcomes. Null if it does its work. Events that are late, paused or dead are no fault of the relay.
     *
     * @param longestSilence how long it may be without a successful look, and without a successful write of outcomes
     *     while there are any to write
     */
    public @Nullable String fault(Duration longestSilence) {
        if (!poller.running()) {
            return "The relay does not run";
        }
        Duration since = poller.sinceLook();
        if (since != null && since.compareTo(longestSilence) > 0) {
            return "The poller has not looked at the table for " + since.toSeconds() + " s";
        }
        if (dispatcher.workers() > 0 && dispatcher.liveWorkers() == 0) {
            return "All workers are held by listeners that do not return";
        }
        Duration failing = dispatcher.marksFailingFor();
        if (failing != null && failing.compareTo(longestSilence) > 0) {
            return "Outcomes of events cannot be written for " + failing.toSeconds() + " s";
        }
        return null;
    }

    /** Why the last cycle of the poller failed, else the last failed attempt; null if there is neither. */
    public @Nullable String lastError() {
        return poller.lastError() != null ? poller.lastError() : dispatcher.lastError();
    }
}
