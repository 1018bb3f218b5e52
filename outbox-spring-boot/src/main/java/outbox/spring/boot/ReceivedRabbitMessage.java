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

import java.util.stream.Stream;

/**
 * Knows the message that a container of Spring AMQP has its listener handle on this thread: as an advice that every container factory of the application is given. A method alone would
 * see its arguments, and most have no place for the id of their message.
 */
final class ReceivedRabbitMessage implements MethodInterceptor, BeanPostProcessor, IncomingMessages {

    private final ThreadLocal<@Nullable Object> received = new ThreadLocal<>(); // a message, or a list of them

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
        Object outer = received.get();
        received.set(arguments.length == 2 ? arguments[1] : null);
        try {
            return call.proceed();
        } finally {
            if (outer == null) {
                received.remove();
            } else {
                received.set(outer);
            }
        }
    }

    @Override
    public @Nullable IncomingMessage current() {
        Object current = received.get();
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
        return new ImmediateRequeueAmqpException(String.valueOf(trouble.getMessage()), trouble);
    }

    /** To the dead letters, if the queue has some. */
    @Override
    public RuntimeException refuse(String why) {
        return new AmqpRejectAndDontRequeueException(why);
    }
}
