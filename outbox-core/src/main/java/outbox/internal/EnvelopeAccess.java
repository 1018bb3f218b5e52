package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.model.OutboxEvent;

import java.lang.invoke.MethodHandles;
import java.util.Map;
import java.util.Objects;

/**
 * Operations on an {@link EventEnvelope} that only packages of this library may use. The envelope provides
 * the implementation.
 */
public abstract class EnvelopeAccess {

    private static volatile @Nullable EnvelopeAccess instance; // set by the static initializer of EventEnvelope

    public static void provide(EnvelopeAccess access) {
        instance = access;
    }

    public static EnvelopeAccess get() {
        if (instance == null) {
            try {
                MethodHandles.lookup().ensureInitialized(EventEnvelope.class);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e); // cannot happen: the class is public
            }
        }
        return Objects.requireNonNull(instance);
    }

    /** Like {@link EventEnvelope#restore}, with the data that the poller passes to the dispatcher. */
    public abstract EventEnvelope restore(OutboxEvent row, HandOver handOver);

    public abstract @Nullable HandOver handOver(EventEnvelope event);

    /** Returns a copy of the event with these additional headers. Reserved names are allowed. */
    public abstract EventEnvelope withHeaders(EventEnvelope event, Map<String, String> headers);
}
