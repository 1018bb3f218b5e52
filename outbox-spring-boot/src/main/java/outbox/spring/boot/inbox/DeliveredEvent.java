package outbox.spring.boot.inbox;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.EventInterceptor;
import outbox.spring.boot.IncomingMessage;

import java.time.Duration;
import java.util.List;

/** Keeps the event whose listener runs on this thread. */
final class DeliveredEvent implements EventInterceptor, IncomingMessages {

    private static final Duration LATER = Duration.ofSeconds(5);

    private static final ThreadLocal<@Nullable List<EventEnvelope>> EVENTS = new ThreadLocal<>();

    @Override
    public AutoCloseable enterListener(List<EventEnvelope> delivered) {
        // a listener may complete the asynchronous delivery of another event
        List<EventEnvelope> outer = EVENTS.get();
        EVENTS.set(delivered);
        return () -> {
            if (outer == null) {
                EVENTS.remove();
            } else {
                EVENTS.set(outer);
            }
        };
    }

    @Override
    public @Nullable IncomingMessage current() {
        List<EventEnvelope> delivered = EVENTS.get();
        if (delivered == null) {
            return null;
        }
        if (delivered.size() > 1) {
            return NONE; // a batch has no single key
        }
        EventEnvelope event = delivered.get(0);
        String key = event.dedupKey();
        return new IncomingMessage(key == null ? event.eventId() : key, event.eventType(), event.headers());
    }

    @Override
    public RuntimeException comeAgain(RuntimeException trouble) {
        return new RetryLaterException(LATER, String.valueOf(trouble.getMessage()), false, trouble);
    }

    @Override
    public RuntimeException refuse(String why) {
        return new GiveUpException(why);
    }
}
