package outbox.internal;

import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventListener;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** Checks the settings that listeners declare and rejects invalid values. */
public final class ListenerSettings {

    private static final Logger LOG = SafeLogger.of(ListenerSettings.class);

    private ListenerSettings() {}

    public static int atLeastOne(String setting, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(setting + " of a listener must be at least 1, not " + value);
        }
        return value;
    }

    /**
     * Rejects a listener with an invalid setting early. If the listener throws, the setting is checked again when
     * the listener is used.
     */
    public static void check(EventListener listener) {
        int bound = 1;
        String setting = listener instanceof AsyncEventListener ? "maxInFlight" : "maxBatchSize";
        try {
            if (listener instanceof AsyncEventListener async) {
                bound = async.maxInFlight();
            } else if (listener instanceof BatchEventListener batch) {
                bound = batch.maxBatchSize();
            }
        } catch (RuntimeException | Error e) {
            LOG.log(Level.DEBUG, "A listener fails to tell its " + setting + " yet", e);
        }
        atLeastOne(setting, bound);
    }
}
