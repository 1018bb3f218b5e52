package outbox.spring;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadException;
import outbox.payload.PayloadTypes;

/**
 * Converts payloads to the parameter types of listener methods. Registered payload types are converted with
 * respect to their version. Other payloads are converted to the class of the parameter, and their version
 * is ignored. Thread-safe.
 */
final class PayloadReader {

    private final @Nullable PayloadCodec codec;
    private final @Nullable PayloadTypes registered;

    PayloadReader(@Nullable PayloadCodec codec, @Nullable PayloadTypes registered) {
        this.codec = codec;
        this.registered = registered;
    }

    /** Throws if this payload type can never be read. */
    void check(String eventType, Class<?> type) {
        if (codec == null) {
            throw new IllegalArgumentException("there is no PayloadCodec to make a " + type.getName()
                    + " of a payload. Add Jackson and outbox-jackson3 or outbox-jackson, or take the"
                    + " payload as a String");
        }
        Class<?> known =
                registered == null ? null : registered.typeOf(eventType).orElse(null);
        if (known != null && !type.isAssignableFrom(known)) {
            throw new IllegalArgumentException("the payload of event type " + eventType + " is a " + known.getName()
                    + " by its registration, not a " + type.getName());
        }
    }

    Object read(EventEnvelope event, Class<?> type) {
        String eventType = event.eventType();
        if (registered != null && registered.typeOf(eventType).isPresent()) {
            return registered.receive(event, type);
        }
        if (codec == null) {
            throw new IllegalStateException("There is no PayloadCodec");
        }
        try {
            return codec.read(event.payloadJson(), type);
        } catch (PayloadException e) {
            throw new GiveUpException(
                    "The payload of event " + event.eventId() + " (type " + eventType + ", version "
                            + event.schemaVersion() + ") cannot be read: " + e.getMessage(),
                    e);
        }
    }
}
