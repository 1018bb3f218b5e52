package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.EventInterceptor;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Logs messages that could not be sent: a warning for each failed attempt, and an error for the attempt after which
 * the event is FAILED. The meter {@code outbox.dead} counts the latter.
 */
final class SendAlert implements EventInterceptor {

    private static final Logger LOG = LoggerFactory.getLogger(SendAlert.class);

    private final int maxAttempts;
    // by event id; contains the events in delivery
    private final Map<String, Integer> attempts = new ConcurrentHashMap<>();

    SendAlert(int maxAttempts) {
        this.maxAttempts = maxAttempts;
    }

    @Override
    public void beforeDispatch(EventEnvelope event, int attempt) {
        attempts.put(event.eventId(), attempt);
    }

    @Override
    public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
        Integer attempt = attempts.remove(event.eventId());
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
                .during(() -> tell(event, attempt == null ? 1 : attempt, error));
    }

    private void tell(EventEnvelope event, int attempt, Exception error) {
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

    /**
     * A failure that the broker did not cause, such as the shutdown of this program, does not count as an attempt.
     */
    private boolean isLast(int attempt, Exception error) {
        if (error instanceof RetryLaterException later && !later.isCounted()) {
            return false;
        }
        return error instanceof GiveUpException || attempt >= maxAttempts;
    }
}
