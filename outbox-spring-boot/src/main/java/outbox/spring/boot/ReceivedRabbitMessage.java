package outbox.spring.boot;

import org.aopalliance.aop.Advice;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.amqp.AmqpRejectAndDontRequeueException;
import org.springframework.amqp.ImmediateRequeueAmqpException;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageProperties;
import org.springframework.amqp.rabbit.config.AbstractRabbitListenerContainerFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;

import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Knows the message that a container of Spring AMQP has its listener handle on this thread: as an advice that every container factory of the application is given. A method alone would
 * see its arguments, and most have no place for the id of their message.
 */
final class ReceivedRabbitMessage implements MethodInterceptor, BeanPostProcessor, IncomingMessages {

    private static final long PAUSE_MILLIS = 1_000;
    private static final int MAX_CAUSES = 20; // a chain of causes may be a cycle

    private static final ThreadLocal<@Nullable Object> RECEIVED = new ThreadLocal<>(); // a message, or a list of them

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof AbstractRabbitListenerContainerFactory<?> factory) {
            Advice[] chain = factory.getAdviceChain();
            factory.setAdviceChain(Stream.concat(Stream.of(this), chain == null ? Stream.empty() : Stream.of(chain))
                    .toArray(Advice[]::new)); // the outermost, so that retries see the message too
        }
        return bean;
    }

    /** Around the call of a listener with a channel and what was received. */
    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        @Nullable Object[] arguments = call.getArguments();
        Object outer = RECEIVED.get();
        RECEIVED.set(arguments.length == 2 ? arguments[1] : null);
        try {
            return call.proceed();
        } catch (Exception e) {
            ComeAgainException trouble = troubleIn(e);
            if (trouble == null) {
                throw e;
            }
            pause();
            throw trouble; // without what retries have made of it, be it a rejection
        } finally {
            if (outer == null) {
                RECEIVED.remove();
            } else {
                RECEIVED.set(outer);
            }
        }
    }

    private static @Nullable ComeAgainException troubleIn(Throwable failure) {
        Throwable cause = failure;
        for (int i = 0; i < MAX_CAUSES && cause != null; i++, cause = cause.getCause()) {
            if (cause instanceof ComeAgainException trouble) {
                return trouble;
            }
        }
        return null;
    }

    /** The broker sends it again at once; without a rest both would do nothing else while the inbox is away. */
    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ours, so that nobody else's wish to see a message again is taken for it. */
    private static final class ComeAgainException extends ImmediateRequeueAmqpException {

        private static final long serialVersionUID = 1L;

        ComeAgainException(RuntimeException trouble) {
            super(String.valueOf(trouble.getMessage()), trouble);
        }
    }

    @Override
    public @Nullable IncomingMessage current() {
        Object current = RECEIVED.get();
        if (current == null) {
            return null;
        }
        if (!(current instanceof Message message)) {
            return IncomingMessage.NONE; // a batch has no key of its own
        }
        MessageProperties properties = message.getMessageProperties();
        return new IncomingMessage(properties.getMessageId(), properties.getType(), properties.getHeaders());
    }

    /** Whatever the container does with failures: this is none of the message. */
    @Override
    public RuntimeException comeAgain(RuntimeException trouble) {
        return new ComeAgainException(trouble);
    }

    /** To the dead letters, if the queue has some. */
    @Override
    public RuntimeException refuse(String why) {
        return new AmqpRejectAndDontRequeueException(why);
    }
}
