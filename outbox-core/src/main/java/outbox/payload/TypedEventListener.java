package outbox.payload;

import outbox.EventEnvelope;

/** Receives events with their payload as a Java type. The rules of {@link outbox.EventListener} apply. */
@FunctionalInterface
public interface TypedEventListener<T> {

    void onEvent(T payload, EventEnvelope event) throws Exception;
}
