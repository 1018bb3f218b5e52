package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.spi.PollerNeeds;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;

/**
 * The needs that a poller follows: those of its handler, or those of the dispatcher that received the first event.
 * If events reach a second dispatcher, the poller follows no needs, because those of one dispatcher do not apply to
 * the other. Thread-safe.
 */
final class KnownNeeds {

    private static final Logger LOG = SafeLogger.of(KnownNeeds.class);
    private static final PollerNeeds NONE = new PollerNeeds() {};

    private final PollerNeeds.Poller poller;
    // null until a dispatcher is known; written under the lock of this, read by any thread
    private volatile @Nullable PollerNeeds known;

    // whether the handler states its needs itself; set before the poller runs
    private boolean declared;

    KnownNeeds(PollerNeeds.Poller poller) {
        this.poller = poller;
    }

    /** The needs that the handler itself states. They stay in force, whatever receives its events. */
    void declare(PollerNeeds needs) {
        add(needs);
        declared = true;
    }

    /** How long a claim of the poller lasts; null if it does not claim. */
    @Nullable
    Duration lockTimeout() {
        return poller.lockTimeout();
    }

    PollerNeeds get() {
        PollerNeeds needs = known;
        return needs == null ? NONE : needs;
    }

    /**
     * Registers the needs of a dispatcher that receives events of this poller.
     *
     * @throws IllegalArgumentException if the dispatcher delivers in order and the poller does not claim
     */
    void add(PollerNeeds needs) {
        if (!declared && known != needs && known != NONE) {
            addNew(needs);
        }
    }

    private synchronized void addNew(PollerNeeds needs) {
        if (known == null) {
            if (poller.lockTimeout() == null && needs.ordering().isOn()) {
                // Without claims, the poller would read the waiting events again and again, and never the
                // events after them.
                throw new IllegalArgumentException(
                        "Delivery in order needs a poller that claims, and this one has no lockTimeout:"
                                + " use OutboxPoller.builder(), or the constructor that takes a lockTimeout");
            }
            needs.attached(poller);
            known = needs;
        } else if (known != needs && known != NONE) {
            known = NONE;
            LOG.log(
                    Level.WARNING,
                    "The handler of a poller passes events to several dispatchers: the poller knows neither their room"
                            + " nor their order or leadership. Give each dispatcher a poller of its own");
        }
    }
}
