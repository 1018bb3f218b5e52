package outbox.spring.boot.inbox;

import org.jspecify.annotations.Nullable;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.Expression;
import org.springframework.expression.ExpressionException;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionAttributeSource;
import outbox.spring.Idempotent;
import outbox.spring.boot.IncomingMessage;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;

/** A method with {@link Idempotent}, parsed and checked once. */
record IdempotentMethod(
        Method method, String consumer, @Nullable Expression key) {

    private static final SpelExpressionParser PARSER = new SpelExpressionParser();
    private static final DefaultParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();
    private static final TransactionAttributeSource TRANSACTIONS = new AnnotationTransactionAttributeSource(false);
    private static final Set<Integer> APART = Set.of(
            TransactionDefinition.PROPAGATION_REQUIRES_NEW,
            TransactionDefinition.PROPAGATION_NOT_SUPPORTED,
            TransactionDefinition.PROPAGATION_NEVER);

    /**
     * Reads the annotation.
     *
     * @param resolver resolves placeholders
     * @throws IllegalStateException if the inbox cannot work for this method
     */
    static IdempotentMethod of(Method method, UnaryOperator<String> resolver) {
        Idempotent annotation = AnnotatedElementUtils.findMergedAnnotation(method, Idempotent.class);
        if (annotation == null) {
            throw new IllegalArgumentException(method + " is not @Idempotent");
        }
        if (Modifier.isPrivate(method.getModifiers())
                || Modifier.isStatic(method.getModifiers())
                || Modifier.isFinal(method.getModifiers())) {
            throw refused(method, "must be neither private nor static nor final, since it is called by way of a proxy");
        }
        Class<?> answer = method.getReturnType();
        if (answer.isPrimitive() && answer != void.class) {
            throw refused(method, "must not answer a primitive value: a copy of a message answers null");
        }
        if (Future.class.isAssignableFrom(answer)
                || CompletionStage.class.isAssignableFrom(answer)
                || answer.getName().startsWith("reactor.core.publisher.")) {
            throw refused(method, "must not answer before it has ended: its transaction ends with the call");
        }
        for (Class<?> parameter : method.getParameterTypes()) {
            if (parameter.getName().equals("com.rabbitmq.client.Channel")) {
                throw refused(
                        method,
                        "must leave the acknowledgement to the container, so it cannot take a Channel: it is"
                                + " not called for a copy");
            }
        }
        TransactionAttribute transaction = TRANSACTIONS.getTransactionAttribute(method, method.getDeclaringClass());
        if (transaction != null && APART.contains(transaction.getPropagationBehavior())) {
            throw refused(
                    method,
                    "must join the transaction of its mark, so it cannot be @Transactional with a propagation"
                            + " that leaves or refuses one");
        }
        String consumer = resolver.apply(annotation.consumer());
        if (consumer.isBlank()) {
            throw refused(method, "needs a consumer, a name that stays the same");
        }
        return new IdempotentMethod(method, consumer, keyOf(method, annotation.key()));
    }

    private static @Nullable Expression keyOf(Method method, String key) {
        if (key.isEmpty()) {
            return null;
        }
        try {
            return PARSER.parseExpression(key);
        } catch (ExpressionException e) {
            throw refused(method, "has a key that is no expression: " + e.getMessage());
        }
    }

    private static IllegalStateException refused(Method method, String why) {
        return new IllegalStateException(
                "@Idempotent method " + method.getDeclaringClass().getName() + "." + method.getName() + " " + why);
    }

    IllegalStateException refused(String why) {
        return refused(method, why);
    }

    /**
     * Returns the value of the key expression for this call, or null if there is no expression or it has no value.
     */
    @Nullable
    String keyOf(IncomingMessage message, @Nullable Object[] arguments) {
        if (key == null) {
            return null;
        }
        Object value = key.getValue(new MethodBasedEvaluationContext(message, method, arguments, NAMES));
        return value == null ? null : value.toString();
    }
}
