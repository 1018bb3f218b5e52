package outbox.spring.boot.inbox;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import outbox.inbox.IdempotentListener;
import outbox.inbox.Inbox;
import outbox.inbox.InboxException;
import outbox.spring.boot.IncomingMessage;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/** Runs a method through the inbox, in one transaction with the inbox mark. Thread-safe. */
final class IdempotentAdvice implements MethodInterceptor {

    private final Supplier<Inbox> inbox;
    private final Supplier<List<IncomingMessages>> sources;
    private final UnaryOperator<String> resolver;
    // bounded by the number of annotated methods
    private final Map<Method, IdempotentMethod> methods = new ConcurrentHashMap<>();

    IdempotentAdvice(Supplier<Inbox> inbox, Supplier<List<IncomingMessages>> sources, UnaryOperator<String> resolver) {
        this.inbox = inbox;
        this.sources = sources;
        this.resolver = resolver;
    }

    IdempotentMethod read(Method method) {
        return methods.computeIfAbsent(method, unread -> IdempotentMethod.of(unread, resolver));
    }

    /** Throws if a consumer name does not fit the table. All methods have been read by now. */
    void checkConsumers(InboxParts parts) {
        methods.values().forEach(method -> {
            try {
                parts.table().checkConsumer(method.consumer());
            } catch (IllegalArgumentException e) {
                throw method.refused(
                        "has a name that does not fit table " + parts.table().table() + ": " + e.getMessage());
            }
        });
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        Object target = call.getThis();
        Method method = target == null
                ? call.getMethod()
                : AopUtils.getMostSpecificMethod(call.getMethod(), AopUtils.getTargetClass(target));
        IdempotentMethod idempotent = read(method);
        IncomingMessages source = null;
        IncomingMessage message = IncomingMessages.NONE;
        for (IncomingMessages candidate : sources.get()) {
            IncomingMessage current = candidate.current();
            if (current != null) {
                source = candidate;
                message = current;
                break;
            }
        }
        String key = idempotent.key() == null ? message.id() : idempotent.keyOf(message, call.getArguments());
        if (key == null || key.isBlank()) {
            throw refusal(idempotent, source);
        }
        Run run = new Run(call);
        try {
            inbox.get()
                    .<Exception>handle(idempotent.consumer(), IdempotentListener.remembered(key), message.type(), run);
            return run.answer;
        } catch (InboxException e) {
            throw source == null ? e : source.comeAgain(e);
        } catch (IllegalArgumentException e) {
            if (source == null || run.begun) { // the exception comes from the method
                throw e;
            }
            throw source.refuse(what(idempotent) + " cannot remember this message: " + e.getMessage());
        }
    }

    /** One run of the method. Used only by the thread that runs it. */
    private static final class Run implements Inbox.Action<Exception> {

        private final MethodInvocation call;
        private boolean begun;
        private @Nullable Object answer;

        Run(MethodInvocation call) {
            this.call = call;
        }

        @Override
        public void run(Connection connection) throws Exception {
            begun = true;
            answer = proceed(call);
        }
    }

    private static @Nullable Object proceed(MethodInvocation call) throws Exception {
        try {
            return call.proceed();
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            // a Throwable that is neither Exception nor Error; occurs only in tests
            throw new IllegalStateException(e);
        }
    }

    private static String what(IdempotentMethod method) {
        return "@Idempotent method " + method.method().getName() + " of consumer " + method.consumer();
    }

    private static RuntimeException refusal(IdempotentMethod method, @Nullable IncomingMessages source) {
        String what = what(method);
        if (source == null && method.key() == null) {
            return new IllegalStateException(
                    what + " was called without a message to take the id of. Let it say its key.");
        }
        String why = what + " cannot tell this message from others: "
                + (method.key() == null ? "it has no id" : "its key is empty") + ".";
        return source == null ? new IllegalArgumentException(why) : source.refuse(why);
    }
}
