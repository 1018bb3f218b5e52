package outbox.testing;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;
import outbox.spi.SettableClockEventStore;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A proxy between the engine and a store. It adds the offset of the test clock to the database time, records claims
 * and outcomes, and allows each event one attempt per delivery. The engine reads every time from
 * {@link LeasingEventStore#now} and passes it to the store, so due times, retries and deadlines follow the test
 * clock, and no row needs a change.
 *
 * <p>It is a JDK proxy and not a delegating class, so that it has exactly the capabilities of the store.
 */
final class WatchedStore implements InvocationHandler {

    private final LeasingEventStore target;
    private final TestClock clock;
    private final DeliveryWatch watch;

    private WatchedStore(LeasingEventStore target, TestClock clock, DeliveryWatch watch) {
        this.target = target;
        this.clock = clock;
        this.watch = watch;
    }

    static SettableClockEventStore of(EventStore store, TestClock clock) {
        if (!(store instanceof LeasingEventStore target)) {
            throw new IllegalArgumentException(
                    "A test outbox needs a store that implements " + LeasingEventStore.class.getName() + ", and "
                            + store.getClass().getName() + " does not");
        }
        if (of(store) != null) {
            throw new IllegalArgumentException("The store is watched already");
        }
        Set<Class<?>> capabilities = new LinkedHashSet<>(List.of(SettableClockEventStore.class));
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            Stream.of(type.getInterfaces())
                    .filter(capability -> Modifier.isPublic(capability.getModifiers()))
                    .forEach(capabilities::add);
        }
        return (SettableClockEventStore) Proxy.newProxyInstance(
                target.getClass().getClassLoader(),
                capabilities.toArray(Class<?>[]::new),
                new WatchedStore(target, clock, new DeliveryWatch()));
    }

    /** Returns the handler of a watched store, or null if the store is not watched. */
    static @Nullable WatchedStore of(EventStore store) {
        return Proxy.isProxyClass(store.getClass()) && Proxy.getInvocationHandler(store) instanceof WatchedStore watched
                ? watched
                : null;
    }

    TestClock clock() {
        return clock;
    }

    DeliveryWatch watch() {
        return watch;
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        Object[] given = arguments == null ? new Object[0] : arguments;
        return switch (method.getName()) {
            case "equals" -> proxy == given[0];
            case "hashCode" -> System.identityHashCode(proxy);
            case "toString" -> "watched " + target;
            case "now" -> ((Instant) answer(method, given)).plus(clock.ahead());
            case "claim", "claimInOrder", "claimExcept", "claimUnread" ->
                claimed((Connection) given[0], answer(method, given));
            case "mark" -> marked(given[1], answer(method, given));
            case "remove" -> removed(answer(method, given));
            case "expire", "endUntaken", "endUnreachable" -> buried(answer(method, given));
            default -> forward(method, given);
        };
    }

    /**
     * Releases events that were already attempted in this delivery, in the same transaction, and returns the others.
     */
    private List<ClaimedEvent> claimed(Connection connection, Object answer) {
        List<ClaimedEvent> fresh = new ArrayList<>();
        List<ClaimedEvent> again = new ArrayList<>();
        for (Object event : (List<?>) answer) {
            ClaimedEvent found = (ClaimedEvent) event;
            (watch.isAttempted(found.event().eventId()) ? again : fresh).add(found);
        }
        if (!again.isEmpty()) {
            target.release(connection, again.get(0).claim().token(), ids(again));
        }
        watch.claimed(ids(fresh));
        return fresh;
    }

    private static List<String> ids(List<ClaimedEvent> events) {
        return events.stream().map(event -> event.event().eventId()).toList();
    }

    private Object marked(Object marks, Object answer) {
        Set<?> written = (Set<?>) answer;
        for (Object each : (List<?>) marks) {
            Mark mark = (Mark) each;
            if (written.contains(mark.eventId())) {
                watch.ended(mark.eventId(), mark.status());
            }
        }
        return answer;
    }

    private Object removed(Object answer) {
        ((Set<?>) answer).forEach(eventId -> watch.removed((String) eventId));
        return answer;
    }

    private Object buried(Object answer) {
        ((List<?>) answer).forEach(eventId -> watch.ended((String) eventId, EventStatus.DEAD));
        return answer;
    }

    private Object answer(Method method, Object[] arguments) throws Throwable {
        Object answer = forward(method, arguments);
        if (answer == null) {
            throw new IllegalStateException(target + " answered null to " + method.getName());
        }
        return answer;
    }

    private @Nullable Object forward(Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause(); // rethrow the exception of the store
        }
    }
}
