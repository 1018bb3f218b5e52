package outbox.relay;

import outbox.internal.EventRules;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * Delivers events to subscribers in the same process, by topic. An event is delivered when all its
 * subscribers have returned. If one fails, all of them receive the event again, so each must detect
 * duplicates by {@link Meta#eventId()}. All subscribers are called, even if one of them fails. A topic
 * without a subscriber is an error.
 *
 * <p>Thread-safe. Subscribers may be added while events are delivered.
 */
public final class EventBus implements MessageDispatcher {

    /** Receives the events of a topic. If it throws anything, even an {@link Error}, the attempt has failed. */
    @FunctionalInterface
    public interface Subscriber {
        void onMessage(Meta meta, String payload) throws Exception;
    }

    private final Map<String, List<Subscriber>> subscribers = new ConcurrentHashMap<>();

    /** Adds a subscriber. Subscribers are called in the order in which they were added. */
    public EventBus subscribe(String topic, Subscriber subscriber) {
        Topics.check(topic);
        Objects.requireNonNull(subscriber, "subscriber");
        subscribers.merge(
                topic,
                List.of(subscriber),
                (before, one) -> Stream.concat(before.stream(), one.stream()).toList());
        return this;
    }

    /**
     * Adds all methods of the object that have the annotation {@link Subscribe}.
     *
     * @throws InvalidHandlerReturnException if a method does not return void; no method is added then
     * @throws IllegalArgumentException if there is no such method, or if one has an invalid signature; no method
     *     is added then
     */
    public EventBus subscribeAll(Object object) {
        // by signature, so that an overridden method is added once
        Map<String, Method> found = new LinkedHashMap<>();
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.isAnnotationPresent(Subscribe.class) && !method.isBridge()) {
                    found.putIfAbsent(method.getName() + Arrays.toString(method.getParameterTypes()), method);
                }
            }
        }
        List<Method> methods = List.copyOf(found.values());
        if (methods.isEmpty()) {
            throw new IllegalArgumentException(
                    object.getClass().getName() + " has no method with @" + Subscribe.class.getSimpleName());
        }
        methods.forEach(EventBus::checkShape);
        methods.forEach(
                method -> Topics.check(method.getAnnotation(Subscribe.class).value()));
        methods.forEach(
                method -> subscribe(method.getAnnotation(Subscribe.class).value(), reflective(object, method)));
        return this;
    }

    private static void checkShape(Method method) {
        if (method.getReturnType() != void.class) {
            throw new InvalidHandlerReturnException(method);
        }
        List<Class<?>> takes = List.of(method.getParameterTypes());
        boolean fits = !Modifier.isStatic(method.getModifiers())
                && (takes.equals(List.of(Meta.class, String.class)) || takes.equals(List.of(DispatchedMessage.class)));
        if (!fits) {
            throw new IllegalArgumentException("Method " + method
                    + " cannot be a subscriber: it must not be static, and take (Meta, String) or "
                    + "(DispatchedMessage).");
        }
        if (!method.trySetAccessible()) {
            throw new IllegalArgumentException("Method " + method
                    + " cannot be a subscriber: it is not accessible. Make it public in a public class, "
                    + "or open its package.");
        }
    }

    private static Subscriber reflective(Object object, Method method) {
        boolean whole = method.getParameterCount() == 1;
        return (meta, payload) -> {
            try {
                if (whole) {
                    method.invoke(object, new DispatchedMessage(meta, payload));
                } else {
                    method.invoke(object, meta, payload);
                }
            } catch (InvocationTargetException e) {
                Throwable thrown = e.getCause();
                if (thrown instanceof Error error) {
                    throw error;
                }
                throw thrown instanceof Exception failure ? failure : e;
            }
        };
    }

    @Override
    public void dispatch(DispatchedMessage message) throws Exception {
        Meta meta = message.meta();
        List<Subscriber> all = subscribers.get(meta.topic());
        if (all == null) {
            throw new NoSubscriberException(meta.topic());
        }
        List<Throwable> failures = new ArrayList<>();
        for (Subscriber subscriber : all) {
            try {
                subscriber.onMessage(meta, message.payload());
            } catch (InterruptedException e) { // the time limit applies to all subscribers together
                throw e;
            } catch (Throwable e) { // even an Error, because the other subscribers must still be called
                failures.add(e);
            }
        }
        if (failures.size() > 1) {
            throw new SubscribersFailedException(failures, all.size());
        }
        if (failures.size() == 1) {
            throwAsItIs(failures.get(0));
        }
    }

    private static void throwAsItIs(Throwable failure) throws Exception {
        if (failure instanceof Error error) {
            throw error;
        }
        throw (Exception) failure;
    }

    /** Returns the topics that have a subscriber. */
    @Override
    public String toString() {
        return "EventBus"
                + subscribers.keySet().stream().map(EventRules::show).sorted().toList();
    }
}
