package outbox.dispatch;

import outbox.EventEnvelope;

import java.util.Objects;

/**
 * An event on its way to a worker.
 *
 * @param attempts how many attempts were made before
 */
public record QueuedEvent(EventEnvelope envelope, Source source, int attempts) {

    /** Which path brought the event. */
    public enum Source {
        /** After the commit, from the thread that wrote the event. */
        HOT,
        /** From a poller. */
        COLD
    }

    public QueuedEvent {
        Objects.requireNonNull(envelope, "envelope");
        Objects.requireNonNull(source, "source");
        if (attempts < 0) {
            throw new IllegalArgumentException("attempts must not be negative: " + attempts);
        }
    }
}
