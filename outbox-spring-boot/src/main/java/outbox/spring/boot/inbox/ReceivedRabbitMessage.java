package outbox.spring.boot.inbox;

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
import outbox.spring.boot.IncomingMessage;

import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Keeps the message that a Spring AMQP container handles on this thread. It is an advice that is added to every
 * container factory of the application. An advice of the listener method itself sees only the arguments, and these
 * seldom include the message id.
 */
final class ReceivedRabbitMessage implements MethodInterceptor, BeanPostProcessor, IncomingMessages {

    private static final long PAUSE_MILLIS = 1_000;
    private static final int MAX_CAUSES = 20; // a chain of causes may be a cycle

    // a message, or a list of messages
    private static final ThreadLocal<@Nullable Object> RECEIVED = new ThreadLocal<>();

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof AbstractRabbitListenerContainerFactory<?> factory) {
            Advice[] chain = factory.getAdviceChain();
            factory.setAdviceChain(Stream.concat(Stream.of(this), chain == null ? Stream.empty() : Stream.of(chain))
                    .toArray(Advice[]::new)); // outermost, so that retries see the message too
        }
        return bean;
    }

    /** Runs around the call of a listener; its arguments are a channel and the received message or messages. */
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
            throw trouble; // not the exception that retries made of it, which may reject the message
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

    /**
     * Waits before the message is requeued. The broker redelivers it immediately, so without a pause this would be a
     * busy loop while the inbox is unavailable.
     */
    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A class of our own, so that a requeue request of other code is not taken for ours. */
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
            return NONE; // a batch has no single key
        }
        MessageProperties properties = message.getMessageProperties();
        return new IncomingMessage(properties.getMessageId(), properties.getType(), properties.getHeaders());
    }

    /**
     * Requeues the message, independent of the error handling of the container, because the message did not cause
     * the failure.
     */
    @Override
    public RuntimeException comeAgain(RuntimeException trouble) {
        return new ComeAgainException(trouble);
    }

    /** Rejects the message. It goes to the dead-letter exchange if the queue has one. */
    @Override
    public RuntimeException refuse(String why) {
        return new AmqpRejectAndDontRequeueException(why);
    }
}
