package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.core.ResolvableType;
import outbox.EventEnvelope;
import outbox.relay.Meta;

import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a parameter of a listener method is filled with.
 *
 * @param type of the payload, if it is one; else of no interest
 * @param header its name, if it is one
 * @param listed whether it is a list, that is with what each event of a call has
 */
record ListenerParameter(Kind kind, Class<?> type, @Nullable String header, boolean listed) {

    enum Kind {
        ENVELOPE,
        PAYLOAD,
        HEADER,
        HEADERS,
        ATTEMPT
    }

    /** The parameters of a method, as a bean of the given class has it. */
    static List<ListenerParameter> of(Method method, Class<?> beanClass) {
        List<ListenerParameter> all = new ArrayList<>();
        Parameter[] parameters = method.getParameters();
        for (int i = 0; i < parameters.length; i++) {
            all.add(of(parameters[i], ResolvableType.forMethodParameter(method, i, beanClass)));
        }
        return all;
    }

    private static ListenerParameter of(Parameter parameter, ResolvableType resolved) {
        Class<?> type = resolved.toClass();
        Header header = parameter.getAnnotation(Header.class);
        if (header != null) {
            require(
                    type == String.class || type == Optional.class && resolved.resolveGeneric() == String.class,
                    "@Header is for a String or an Optional<String>, not for a " + type.getName());
            return new ListenerParameter(Kind.HEADER, type, header.value(), false);
        }
        if (parameter.isAnnotationPresent(Attempt.class)) {
            require(type == int.class || type == Integer.class, "@Attempt is for an int, not for a " + type.getName());
            return new ListenerParameter(Kind.ATTEMPT, type, null, false);
        }
        if (type == Map.class
                && resolved.resolveGeneric(0) == String.class
                && resolved.resolveGeneric(1) == String.class) {
            return new ListenerParameter(Kind.HEADERS, type, null, false);
        }
        require(type != Meta.class, "Meta is for subscribers of a Relay; take the EventEnvelope, and @Attempt int");
        boolean listed = type == List.class;
        Class<?> one = listed ? resolved.getGeneric().toClass() : type;
        require(!one.isPrimitive(), "no payload is a " + one + "; a number of the attempt needs @Attempt");
        return new ListenerParameter(one == EventEnvelope.class ? Kind.ENVELOPE : Kind.PAYLOAD, one, null, listed);
    }

    private static void require(boolean valid, String rule) {
        if (!valid) {
            throw new IllegalArgumentException(rule);
        }
    }

    /** The class that a codec must make of the payload; null if it is not asked to. */
    @Nullable
    Class<?> payloadType() {
        return kind != Kind.PAYLOAD || type == String.class || type == byte[].class ? null : type;
    }

    /** The argument for one event. */
    @Nullable
    Object of(EventEnvelope event, PayloadReader payloads) {
        return switch (kind) {
            case ENVELOPE -> event;
            case PAYLOAD ->
                type == String.class
                        ? event.payloadJson()
                        : type == byte[].class ? event.payloadBytes() : payloads.read(event, type);
            case HEADER -> headerOf(event);
            case HEADERS -> event.headers();
            case ATTEMPT -> CurrentAttempt.of(event);
        };
    }

    private @Nullable Object headerOf(EventEnvelope event) {
        String value = event.headers().get(header);
        return type == String.class ? value : Optional.ofNullable(value);
    }
}
