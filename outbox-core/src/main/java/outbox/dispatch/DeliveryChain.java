package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.BatchOutcome;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.internal.CurrentEvent;
import outbox.registry.ListenerRegistry;
import outbox.spi.Replay;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/**
 * The boundary to user code: interceptors around one listener of any kind. Nothing that is thrown there gets past it, and nothing left behind on the thread reaches the next event.
 */
final class DeliveryChain {

    private static final Logger LOG = SafeLogger.of(DeliveryChain.class);

    private final ListenerRegistry registry;
    private final List<EventInterceptor> interceptors;

    DeliveryChain(ListenerRegistry registry, List<EventInterceptor> interceptors) {
        this.registry = registry;
        this.interceptors = List.copyOf(interceptors);
    }

    /** Some step of user code. */
    private interface Step {
        void run() throws Exception;
    }

    /** The listener of an event, to see of which kind it is; null if there is none, not the one it was replayed to, or if the registry fails, which it will do again in the run. */
    @Nullable
    EventListener listenerOf(EventEnvelope event) {
        try {
            EventListener listener = registry.listenerFor(event.aggregateType(), event.eventType());
            return listener != null && isFor(event, listener) ? listener : null;
        } catch (Throwable e) {
            return null;
        }
    }

    /** Runs everything for one event and answers why it failed, or null. */
    @Nullable
    Throwable run(Delivery delivery) {
        EventEnvelope event = delivery.envelope();
        List<EventEnvelope> events = List.of(event);
        return contained(events, () -> {
            before(delivery);
            EventListener listener = routed(event);
            ListenerScopes scopes = ListenerScopes.enter(interceptors, events);
            try {
                listener.onEvent(event);
            } finally {
                scopes.close();
            }
        });
    }

    /** Runs the first half for an asynchronous listener, and answers why that failed, or null; {@link #after} is left to whoever learns the end. */
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
                scopes.close(); // before the stage may end the run on this thread
            }
            if (stage == null) {
                throw new NullPointerException("The asynchronous listener returned null instead of a stage");
            }
            started.accept(stage);
        });
    }

    /** Takes what an asynchronous listener returned. */
    interface StageConsumer {
        void accept(CompletionStage<?> stage);
    }

    /** Runs everything but {@link #after} for the events of one call, and answers by event id why they failed. */
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
                BatchOutcome outcome = call(listener, List.copyOf(passed));
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

    private BatchOutcome call(BatchEventListener listener, List<EventEnvelope> events) throws Exception {
        ListenerScopes scopes = ListenerScopes.enter(interceptors, events);
        try {
            return listener.onEvents(events);
        } finally {
            scopes.close();
        }
    }

    /** Answers what was thrown, Errors included: the attempt counts and the worker lives on. */
    private static @Nullable Throwable contained(List<EventEnvelope> events, Step step) {
        Thread thread = Thread.currentThread();
        ClassLoader loader = thread.getContextClassLoader();
        List<EventEnvelope> outer = CurrentEvent.all(); // a listener may end the asynchronous run of another event
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

    private EventListener routed(EventEnvelope event) {
        EventListener listener = registry.listenerFor(event.aggregateType(), event.eventType());
        if (listener == null) {
            throw new UnroutableEventException(event);
        }
        String replayedTo = event.headers().get(Replay.TO_HEADER);
        if (replayedTo != null && !isFor(event, listener)) {
            throw new UnroutableEventException(event, replayedTo, ListenerNames.of(event, listener));
        }
        return listener;
    }

    /** Whether the listener may receive the event: any may, unless the event was replayed to one by name. */
    private static boolean isFor(EventEnvelope event, EventListener listener) {
        String replayedTo = event.headers().get(Replay.TO_HEADER);
        return replayedTo == null || replayedTo.equals(ListenerNames.of(event, listener));
    }

    /** Tells the interceptors how it ended, in reverse order. */
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
