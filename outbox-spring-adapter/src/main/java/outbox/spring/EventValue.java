package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.common.TemplateParserContext;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.SimpleEvaluationContext;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;
import outbox.InvalidEventException;

import java.lang.reflect.Method;
import java.util.stream.Stream;

/** Reads a value from an object with {@link OutboxEvent}, by a property name or by expressions. Immutable. */
final class EventValue {

    /** Allows reading properties and calling methods of the object, and nothing else. */
    private static final EvaluationContext READING = SimpleEvaluationContext.forReadOnlyDataBinding()
            .withInstanceMethods()
            .build();

    private interface Getter {
        @Nullable
        Object of(Object object);
    }

    private final String what;
    private final Getter getter;

    private EventValue(String what, Getter getter) {
        this.what = what;
        this.getter = getter;
    }

    /** Returns null if the text is empty. */
    static @Nullable EventValue of(Class<?> eventClass, String attribute, String text) {
        if (text.isEmpty()) {
            return null;
        }
        String what = attribute + " '" + text + "' of @OutboxEvent on " + eventClass.getName();
        return new EventValue(what, text.contains("#{") ? expression(what, text) : property(eventClass, what, text));
    }

    private static Getter expression(String what, String text) {
        try {
            Expression expression = new SpelExpressionParser().parseExpression(text, new TemplateParserContext());
            return object -> expression.getValue(READING, object);
        } catch (ParseException e) {
            throw new IllegalArgumentException(what + " cannot be parsed: " + e.getMessage(), e);
        }
    }

    private static Getter property(Class<?> eventClass, String what, String name) {
        String suffix = StringUtils.capitalize(name);
        Method method = Stream.of(name, "get" + suffix, "is" + suffix)
                .map(candidate -> ReflectionUtils.findMethod(eventClass, candidate))
                .filter(found -> found != null && found.getReturnType() != void.class)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(what + ": there is neither " + name + "() nor get"
                        + suffix + "(). An expression looks like #{" + name + "}"));
        ReflectionUtils.makeAccessible(method);
        return object -> ReflectionUtils.invokeMethod(method, object);
    }

    @Nullable
    String of(Object object) {
        Object value;
        try {
            value = getter.of(object);
        } catch (RuntimeException e) {
            throw new InvalidEventException(what + " cannot be read: " + e.getMessage());
        }
        return value == null ? null : value instanceof Enum<?> constant ? constant.name() : value.toString();
    }

    String required(Object object) {
        String value = of(object);
        if (value == null) {
            throw new InvalidEventException(what + " is null");
        }
        return value;
    }
}
