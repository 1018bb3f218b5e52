package outbox.spring;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;

import java.util.List;

/** Keeps the attempt number for the listener, which runs on the same thread. */
final class CurrentAttempt implements EventInterceptor {

    private record Current(String eventId, int number) {}

    private static final ThreadLocal<@Nullable Current> CURRENT = new ThreadLocal<>();

    @Override
    public void beforeDispatch(EventEnvelope event, int attempt) {
        CURRENT.set(new Current(event.eventId(), attempt));
    }

    @Override
    public AutoCloseable enterListener(List<EventEnvelope> events) {
        return CURRENT::remove;
    }

    static int of(EventEnvelope event) {
        Current current = CURRENT.get();
        if (current == null || !current.eventId().equals(event.eventId())) {
            throw new IllegalStateException("The number of the attempt for event " + event.eventId()
                    + " is not known: its dispatcher was not given its listeners by OutboxListeners.configure");
        }
        return current.number();
    }
}
