package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.AnnotatedElementUtils;
import outbox.EventEnvelope;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Makes payloads into what listener methods take: by the registered types, which know other versions, else by the parameter's class alone. Thread-safe. */
final class PayloadReader {

    private static final int MAX_KEPT = 1000; // what is beyond is made each time

    private record Key(String eventType, Class<?> type) {}

    private final @Nullable PayloadCodec codec; // null if there is none
    private final @Nullable PayloadTypes registered;
    private final Map<Key, PayloadTypes> unregistered = new ConcurrentHashMap<>();

    PayloadReader(@Nullable PayloadCodec codec, @Nullable PayloadTypes registered) {
        this.codec = codec;
        this.registered = registered;
    }

    /** Refuses what would never work. */
    void check(String eventType, Class<?> type) {
        if (codec == null) {
            throw new IllegalArgumentException(
                    "there is no PayloadCodec to make a " + type.getName()
                            + " of a payload. Add Jackson and outbox-jackson3 or outbox-jackson, or take the payload as a String");
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
        Key key = new Key(eventType, type);
        PayloadTypes own = unregistered.get(key);
        if (own == null) {
            own = typesOf(key);
            if (unregistered.size() < MAX_KEPT) {
                unregistered.put(key, own);
            }
        }
        return own.receive(event, type);
    }

    private PayloadTypes typesOf(Key key) {
        if (codec == null) {
            throw new IllegalStateException("There is no PayloadCodec");
        }
        OutboxEvent event = AnnotatedElementUtils.findMergedAnnotation(key.type(), OutboxEvent.class);
        return PayloadTypes.builder(codec)
                .type(key.eventType(), event == null ? 1 : event.version(), key.type())
                .build();
    }
}
