package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.scheduling.annotation.Async;
import outbox.AggregateType;
import outbox.BatchEventListener;
import outbox.DeliveryOutcome;
import outbox.EventListener;
import outbox.dispatch.Protection.Limit;
import outbox.dispatch.RetryPolicy;
import outbox.dispatch.RetryRules;
import outbox.spring.ListenerParameter.Kind;
import outbox.spring.OutboxListeners.Entry;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;

/** A method with {@link OutboxListener}, parsed and checked: its options, and the listener that calls it. */
final class ListenerMethod {

    private static final Duration LONGEST = Duration.ofDays(365);

    private final ConfigurableBeanFactory beans;
    private final String beanName;
    private final Method method;
    private final OutboxListener annotation;
    private final List<ListenerParameter> parameters;
    private final MethodCall call;
    private final String outbox;
    private final List<String> types;
    private final String aggregate;

    /** Throws if the method cannot be called. The exception does not name the method; the caller adds the name. */
    ListenerMethod(
            ConfigurableBeanFactory beans,
            String beanName,
            Class<?> beanClass,
            Method method,
            OutboxListener annotation,
            PayloadReader payloads) {
        this.beans = beans;
        this.beanName = beanName;
        this.method = method;
        this.annotation = annotation;
        require(!Modifier.isStatic(method.getModifiers()), "it is static, but the listener is a bean. Remove static");
        require(
                !Modifier.isPrivate(method.getModifiers()),
                "it is private, so a proxy, such as that of @Transactional, cannot call it. Remove private");
        parameters = ListenerParameter.of(method, beanClass);
        call = new MethodCall(beans, beanName, method, parameters, payloads);
        outbox = text(annotation.outbox());
        EventForm payloadForm = payloadForm();
        types = typesOr(payloadForm);
        aggregate = aggregateOr(payloadForm);
        Class<?> payload = payloadType();
        if (payload != null) {
            types.forEach(type -> payloads.check(type, payload));
        }
        checkForm();
    }

    String outbox() {
        return outbox;
    }

    String beanName() {
        return beanName;
    }

    Method method() {
        return method;
    }

    /** Throws if the method cannot be called on this bean. */
    void check(Object bean) {
        call.check(bean);
    }

    List<Entry> entries(String origin) {
        EventListener listener = listener();
        RetryRules.Rule retry = retry();
        Duration timeLimit = timeLimit();
        Integer concurrency = number("concurrency", annotation.concurrency());
        Limit limit = concurrency == null ? null : Limit.concurrency(concurrency);
        return types.stream()
                .map(type -> new Entry(aggregate, type, listener, origin, retry, timeLimit, limit))
                .toList();
    }

    private @Nullable Class<?> payloadType() {
        return parameters.stream()
                .map(ListenerParameter::payloadType)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
    }

    private @Nullable EventForm payloadForm() {
        Class<?> type = payloadType();
        return type == null ? null : EventForm.of(type, this::text);
    }

    private List<String> typesOr(@Nullable EventForm payload) {
        if (annotation.type().length > 0) {
            return Arrays.stream(annotation.type()).map(this::text).toList();
        }
        if (payload == null) {
            throw new IllegalArgumentException(
                    "it names no event type. Give one, or take a payload whose class has @OutboxEvent");
        }
        return List.of(payload.type());
    }

    private String aggregateOr(@Nullable EventForm payload) {
        String own = text(annotation.aggregate());
        if (!own.isEmpty()) {
            return own;
        }
        return payload != null && types.contains(payload.type())
                ? payload.aggregateType()
                : AggregateType.GLOBAL.name();
    }

    private void checkForm() {
        Class<?> result = method.getReturnType();
        require(
                parameters.stream().filter(one -> one.kind() == Kind.PAYLOAD).count() <= 1,
                "it has two parameters for the payload. Headers need @Header or a Map<String, String>");
        if (isBatch()) {
            require(
                    parameters.stream().allMatch(ListenerParameter::listed),
                    "it takes a list, that is several events in one call, so every parameter must be a list of"
                            + " payloads or of envelopes");
            require(
                    result == void.class || result == BatchEventListener.Outcome.class,
                    "it takes several events in one call, so it must return nothing or a BatchEventListener.Outcome,"
                            + " not a " + result.getName());
            require(annotation.batchSize() >= 1, "batchSize must be at least 1: " + annotation.batchSize());
        } else {
            require(
                    result == void.class || result == DeliveryOutcome.class || isAsync(),
                    "it must return nothing, a DeliveryOutcome or a CompletionStage, not a " + result.getName());
        }
        boolean elsewhere = AnnotatedElementUtils.hasAnnotation(method, Async.class)
                || AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class);
        require(
                isAsync() || !elsewhere,
                "it is @Async and returns no CompletionStage, so nobody would know whether the event was delivered");
    }

    private boolean isBatch() {
        return parameters.stream().anyMatch(ListenerParameter::listed);
    }

    private boolean isAsync() {
        return CompletionStage.class.isAssignableFrom(method.getReturnType());
    }

    private EventListener listener() {
        String name = name();
        if (isBatch()) {
            boolean answers = method.getReturnType() == BatchEventListener.Outcome.class;
            return new MethodListeners.Batch(call, name, annotation.batchSize(), answers);
        }
        if (isAsync()) {
            return new MethodListeners.Async(call, name);
        }
        return method.getReturnType() == DeliveryOutcome.class
                ? new MethodListeners.Outcome(call, name)
                : new MethodListeners.Plain(call, name);
    }

    /** Returns the configured name, else {@code bean.method} for a listener with several routes, else null. */
    private @Nullable String name() {
        String own = text(annotation.name());
        if (!own.isEmpty()) {
            return own;
        }
        boolean severalRoutes = types.size() > 1 || (aggregate + types.get(0)).indexOf('*') >= 0;
        return severalRoutes ? beanName + "." + method.getName() : null;
    }

    private RetryRules.@Nullable Rule retry() {
        String waits = text(annotation.retry());
        Integer attempts = number("attempts", annotation.attempts());
        if (waits.isEmpty()) {
            return attempts == null ? null : RetryRules.Rule.atMost(attempts);
        }
        RetryPolicy policy = named(
                "retry",
                () -> RetrySpec.parse(waits, bean -> {
                    require(beans.containsBean(bean), "there is no bean '" + bean + "'");
                    return beans.getBean(bean, RetryPolicy.class);
                }));
        RetryRules.Rule rule = RetryRules.Rule.waiting(policy);
        return attempts == null ? rule : rule.andAtMost(attempts);
    }

    private @Nullable Duration timeLimit() {
        String limit = text(annotation.timeLimit());
        if (limit.isEmpty()) {
            return null;
        }
        Duration value = named("timeLimit", () -> RetrySpec.duration(limit));
        require(
                !value.isZero() && !value.isNegative() && value.compareTo(LONGEST) <= 0,
                "timeLimit must be positive and at most a year: " + limit);
        return value;
    }

    private @Nullable Integer number(String attribute, String text) {
        String value = text(text);
        if (value.isEmpty()) {
            return null;
        }
        try {
            int number = Integer.parseInt(value);
            require(number >= 1, attribute + " must be at least 1: " + value);
            return number;
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(attribute + " must be a number of at least 1: " + value, e);
        }
    }

    /** Runs the step. If it throws, adds the name of the attribute to the message. */
    private static <T> T named(String attribute, java.util.function.Supplier<T> step) {
        try {
            return step.get();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(attribute + ": " + e.getMessage(), e);
        }
    }

    private String text(String text) {
        String resolved = beans.resolveEmbeddedValue(text);
        return resolved == null ? "" : resolved.trim();
    }

    private static void require(boolean valid, String rule) {
        if (!valid) {
            throw new IllegalArgumentException(rule);
        }
    }
}
