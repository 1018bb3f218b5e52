package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.internal.CurrentEvent;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/**
 * The boundary to user code: interceptors around one listener of any kind. No exception of user code passes this
 * boundary, and no thread state that it leaves behind reaches the next event.
 */
final class DeliveryChain {

    private static final Logger LOG = SafeLogger.of(DeliveryChain.class);

    private final List<EventInterceptor> interceptors;

    DeliveryChain(List<EventInterceptor> interceptors) {
        this.interceptors = List.copyOf(interceptors);
    }

    /** A call of user code. */
    private interface Step {
        void run() throws Exception;
    }

    /** Runs the interceptors and the listener for one event. Returns the failure, or null. */
    @Nullable
    Throwable run(Delivery delivery, Route route) {
        EventEnvelope event = delivery.envelope();
        List<EventEnvelope> events = List.of(event);
        return contained(events, () -> {
            before(delivery);
            EventListener listener = route.require();
            ListenerScopes scopes = ListenerScopes.enter(interceptors, events);
            try {
                listener.onEvent(event);
            } finally {
                scopes.close();
            }
        });
    }

    /**
     * Runs the first part for an asynchronous listener. Returns the failure, or null. The caller must call
     * {@link #after} when the run has ended.
     */
    @Nullable
    Throwable start(Delivery delivery, AsyncEventListener listener, StageConsumer started) {
        EventEnvelope event = delivery.envelope();
        List<EventEnvelope> events = List.of(event);
        return contained(events, () -> {
            before(delivery);
            CompletionStage<?> stage;
            ListenerScopes scopes = ListenerScopes.enter(interceptors, events);
            try {
                stage = listener.onEventAsync(event);
            } finally {
                scopes.close(); // before the stage can end the run on this thread
            }
            if (stage == null) {
                throw new NullPointerException("The asynchronous listener returned null instead of a stage");
            }
            started.accept(stage);
        });
    }

    /** Receives the stage that an asynchronous listener returned. */
    interface StageConsumer {
        void accept(CompletionStage<?> stage);
    }

    /** Runs everything except {@link #after} for the events of one call. Returns the failures by event id. */
    Map<String, Throwable> run(List<Delivery> batch, BatchEventListener listener) {
        Map<String, Throwable> failures = new HashMap<>();
        List<EventEnvelope> passed = new ArrayList<>();
        for (Delivery delivery : batch) {
            EventEnvelope event = delivery.envelope();
            Throwable refused = contained(List.of(event), () -> before(delivery));
            if (refused == null) {
                passed.add(event);
            } else {
                failures.put(event.eventId(), refused);
            }
        }
        if (!passed.isEmpty()) {
            Throwable thrown = contained(passed, () -> {
                BatchEventListener.Outcome outcome = call(listener, List.copyOf(passed));
                if (outcome == null) {
                    throw new NullPointerException("The batch listener returned null instead of an outcome");
                }
                failures.putAll(outcome.failures());
            });
            if (thrown != null) {
                passed.forEach(event -> failures.put(event.eventId(), thrown));
            }
        }
        return failures;
    }

    private BatchEventListener.Outcome call(BatchEventListener listener, List<EventEnvelope> events) throws Exception {
        ListenerScopes scopes = ListenerScopes.enter(interceptors, events);
        try {
            return listener.onEvents(events);
        } finally {
            scopes.close();
        }
    }

    /** Returns the thrown exception, also an Error: the attempt counts and the worker continues. */
    private static @Nullable Throwable contained(List<EventEnvelope> events, Step step) {
        Thread thread = Thread.currentThread();
        ClassLoader loader = thread.getContextClassLoader();
        // a listener may complete the asynchronous run of another event
        List<EventEnvelope> outer = CurrentEvent.all();
        CurrentEvent.set(events);
        try {
            step.run();
            return null;
        } catch (Throwable e) {
            return e;
        } finally {
            CurrentEvent.set(outer);
            thread.setContextClassLoader(loader);
        }
    }

    private void before(Delivery delivery) throws Exception {
        for (EventInterceptor interceptor : interceptors) {
            interceptor.beforeDispatch(delivery.envelope(), delivery.attempt());
        }
    }

    /** Calls the interceptors with the result, in reverse order. */
    void after(EventEnvelope event, @Nullable Throwable failure) {
        if (interceptors.isEmpty()) {
            return;
        }
        Exception error = failure == null || failure instanceof Exception
                ? (Exception) failure
                : new ListenerErrorException(failure);
        for (int i = interceptors.size() - 1; i >= 0; i--) {
            EventInterceptor interceptor = interceptors.get(i);
            Throwable thrown = contained(List.of(event), () -> interceptor.afterDispatch(event, error));
            if (thrown != null) {
                LOG.log(
                        Level.WARNING,
                        "An interceptor failed after event " + event.eventId() + "; its outcome stands",
                        thrown);
            }
        }
    }
}
