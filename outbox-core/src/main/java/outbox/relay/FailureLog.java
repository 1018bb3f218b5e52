package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.function.BiFunction;

/** Logs each failed delivery with everything that an operator needs to find the event. Never with the payload. */
final class FailureLog implements EventInterceptor {

    private static final Logger LOG = System.getLogger(FailureLog.class.getName());

    private final BiFunction<EventEnvelope, Throwable, String> errorText;

    FailureLog(BiFunction<EventEnvelope, Throwable, String> errorText) {
        this.errorText = errorText;
    }

    @Override
    public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
        if (error != null && LOG.isLoggable(Level.WARNING)) {
            Meta meta = Meta.of(event);
            LOG.log(
                    Level.WARNING,
                    "Delivery failed: table=" + meta.table() + " topic=" + meta.topic() + " event_id="
                            + meta.eventId() + " tenant_id=" + meta.tenantId() + " sequence=" + meta.sequence()
                            + " attempts=" + meta.attempts() + " error=" + errorText.apply(event, error));
        }
    }
}
