package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.core.ResolvableType;
import outbox.EventEnvelope;

import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Describes the value that a parameter of a listener method receives.
 *
 * @param type the payload class; not used for other kinds
 * @param header the header name; null for other kinds
 * @param listed whether the parameter is a list with one element for each event of a call
 */
record ListenerParameter(Kind kind, Class<?> type, @Nullable String header, boolean listed) {

    enum Kind {
        ENVELOPE,
        PAYLOAD,
        HEADER,
        HEADERS,
        ATTEMPT
    }

    /** Returns the parameters of the method, with generic types resolved for the given bean class. */
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
        require(
                !type.getName().equals("outbox.relay.Meta"),
                "Meta is for subscribers of a Relay; take the EventEnvelope, and @Attempt int");
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

    /** Returns the class that the codec must create from the payload, or null if the codec is not needed. */
    @Nullable
    Class<?> payloadType() {
        return kind != Kind.PAYLOAD || type == String.class || type == byte[].class ? null : type;
    }

    /** Returns the argument for one event. */
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
