package outbox.payload;

import outbox.EventEnvelope;

/** Receives events with their payload as a Java type, on the terms of {@link outbox.EventListener}. */
@FunctionalInterface
public interface TypedEventListener<T> {

    void onEvent(T payload, EventEnvelope event) throws Exception;
}
