package outbox.micrometer;

import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.ListenerErrorException;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * The observations that have started and not ended, by object identity of the event: two concurrent runs of one
 * event, such as a hanging one and its retry, are two entries. The size is the number of events that are being
 * written or delivered.
 */
final class OpenObservations {

    private final Map<EventEnvelope, Observation> open = Collections.synchronizedMap(new IdentityHashMap<>());

    void add(EventEnvelope event, Observation observation) {
        Observation before = open.put(event, observation);
        if (before != null) { // the same object was passed twice
            before.stop();
        }
    }

    @Nullable
    Observation get(EventEnvelope event) {
        return open.get(event);
    }

    /** Ends the observation of the event, if it has one. */
    void end(EventEnvelope event, @Nullable Throwable error) {
        Observation observation = open.remove(event);
        if (observation == null) {
            return;
        }
        Throwable cause =
                error instanceof ListenerErrorException && error.getCause() != null ? error.getCause() : error;
        if (cause != null) {
            observation.error(cause);
        }
        observation.stop();
    }
}
