package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.internal.CurrentEvent;
import outbox.registry.ListenerRegistry;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;

/** The boundary to user code: interceptors around one listener. Nothing that is thrown there gets past it, and nothing left behind on the thread reaches the next event. */
final class DeliveryChain {

    private static final Logger LOG = System.getLogger(DeliveryChain.class.getName());

    private final ListenerRegistry registry;
    private final List<EventInterceptor> interceptors;

    DeliveryChain(ListenerRegistry registry, List<EventInterceptor> interceptors) {
        this.registry = registry;
        this.interceptors = List.copyOf(interceptors);
    }

    /** Runs everything for one event and answers why it failed, or null. */
    @Nullable
    Throwable run(EventEnvelope event) {
        Thread thread = Thread.currentThread();
        ClassLoader loader = thread.getContextClassLoader();
        CurrentEvent.set(event);
        try {
            Throwable failure = failureOf(event);
            after(event, failure);
            return failure;
        } finally {
            CurrentEvent.clear();
            thread.setContextClassLoader(loader);
        }
    }

    private @Nullable Throwable failureOf(EventEnvelope event) {
        try {
            deliver(event);
            return null;
        } catch (Throwable e) { // Errors too: the attempt counts and the worker lives on
            return e;
        }
    }

    private void deliver(EventEnvelope event) throws Exception {
        for (EventInterceptor interceptor : interceptors) {
            interceptor.beforeDispatch(event);
        }
        EventListener listener = registry.listenerFor(event.aggregateType(), event.eventType());
        if (listener == null) {
            throw new UnroutableEventException(event);
        }
        listener.onEvent(event);
    }

    private void after(EventEnvelope event, @Nullable Throwable failure) {
        Exception error = failure == null || failure instanceof Exception
                ? (Exception) failure
                : new ListenerErrorException(failure);
        for (int i = interceptors.size() - 1; i >= 0; i--) {
            try {
                interceptors.get(i).afterDispatch(event, error);
            } catch (Throwable e) {
                LOG.log(
                        Level.WARNING,
                        "An interceptor failed after event " + event.eventId() + "; its outcome stands",
                        e);
            }
        }
    }
}
