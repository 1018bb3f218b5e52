package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.poller.OutboxPoller;
import outbox.spi.Leadership;

import java.time.Duration;
import java.util.Objects;

/**
 * The state of a relay on this node, for health checks. Read from memory, without I/O.
 *
 * @param role the role of this node for the table
 */
public record RelayStatus(
        Role role, OutboxPoller.Status poller, OutboxDispatcher.Status dispatcher, Protection.Status protection) {

    /** The role of a node for a table. */
    public enum Role {
        /** This node delivers, and the others stand by. */
        LEADER,
        /** Another node delivers, or there is no leader. */
        STANDBY,
        /** All nodes may deliver. */
        SHARED
    }

    public RelayStatus {
        Objects.requireNonNull(role, "role");
        Objects.requireNonNull(poller, "poller");
        Objects.requireNonNull(dispatcher, "dispatcher");
        Objects.requireNonNull(protection, "protection");
    }

    /** Reads the state of the parts of a relay. Without a leadership, all nodes share the table. */
    public static RelayStatus of(OutboxPoller poller, OutboxDispatcher dispatcher, @Nullable Leadership leadership) {
        Role role = leadership == null ? Role.SHARED : leadership.isLeader() ? Role.LEADER : Role.STANDBY;
        return new RelayStatus(role, poller.status(), dispatcher.status(), dispatcher.protectionStatus());
    }

    /**
     * Returns why the relay does not work, or null if it works. It does not work if it is not running, has not
     * polled the table for too long, has no live worker, or cannot write outcomes. Late, paused or dead events are
     * not a fault of the relay.
     *
     * @param longestSilence maximum time without a successful poll, and maximum time during which all writes of
     *     outcomes fail
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

    /**
     * Returns the error of the poller's last cycle. If there is none, returns why outcomes cannot be written. If
     * there is no such error either, returns the last failed attempt, or null.
     */
    public @Nullable String lastError() {
        return poller.lastError() != null ? poller.lastError() : dispatcher.lastError();
    }
}
