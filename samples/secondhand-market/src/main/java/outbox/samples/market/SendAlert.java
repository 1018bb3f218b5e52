package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.EventInterceptor;
import outbox.relay.Meta;

/** Tells about messages that could not be sent: a warning for each try, an alarm for the one after which the event is FAILED. The meter {@code outbox.dead} counts the same. */
final class SendAlert implements EventInterceptor {

    private static final Logger LOG = LoggerFactory.getLogger(SendAlert.class);

    private final int maxAttempts;

    SendAlert(int maxAttempts) {
        this.maxAttempts = maxAttempts;
    }

    @Override
    public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
        if (error == null) {
            return;
        }
        new LogFields(
                        event.eventId(),
                        StoredPayload.parse(event.payloadJson()).traceId(),
                        OrderEvent.named(event.eventType())
                                .map(OrderEvent::queue)
                                .orElse(event.eventType()),
                        "outbox-relay")
                .during(() -> tell(event, error));
    }

    private void tell(EventEnvelope event, Exception error) {
        int attempt = Integer.parseInt(event.headers().getOrDefault(Meta.ATTEMPTS_HEADER, "1"));
        if (isLast(attempt, error)) {
            LOG.error(
                    "{}: event {} ({}) is FAILED after {} attempts and needs a person: {}",
                    Texts.SEND_FAILED,
                    event.eventId(),
                    event.eventType(),
                    attempt,
                    error.toString());
        } else {
            LOG.warn(
                    "{}: event {} ({}) will be sent again: {}",
                    Texts.SEND_FAILED,
                    event.eventId(),
                    event.eventType(),
                    error.toString());
        }
    }

    /** A broker that is away costs no attempt. */
    private boolean isLast(int attempt, Exception error) {
        if (error instanceof RetryLaterException later && !later.isCounted()) {
            return false;
        }
        return error instanceof GiveUpException || attempt >= maxAttempts;
    }
}
