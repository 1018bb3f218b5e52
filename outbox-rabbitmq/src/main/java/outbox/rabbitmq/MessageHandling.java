package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.inbox.Inbox;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** Finds the handler of a message and runs it through the inbox. Knows nothing of the broker. */
final class MessageHandling {

    private final String consumer;
    private final Inbox inbox;
    private final Map<String, MessageHandler> byType;
    private final @Nullable MessageHandler others;

    MessageHandling(String consumer, Inbox inbox, Map<String, MessageHandler> byType, @Nullable MessageHandler others) {
        this.consumer = consumer;
        this.inbox = inbox;
        this.byType = Map.copyOf(byType);
        this.others = others;
    }

    /** Never throws, although user code may throw anything. */
    Outcome run(Supplier<ReceivedMessage> reading) {
        ReceivedMessage message;
        MessageHandler handler;
        try {
            message = reading.get();
            handler = handlerOf(message);
        } catch (Throwable e) {
            return Outcome.unread(e);
        }
        AtomicBoolean hasBegun = new AtomicBoolean();
        try {
            return Outcome.handled(
                    inbox.<Exception>handle(consumer, message.eventId(), message.eventType(), connection -> {
                        hasBegun.set(true);
                        handler.handle(message, connection);
                    }));
        } catch (Throwable e) {
            return Outcome.of(e, hasBegun.get());
        }
    }

    private MessageHandler handlerOf(ReceivedMessage message) {
        MessageHandler handler = byType.getOrDefault(message.eventType(), others);
        if (handler == null) {
            throw new UnrecoverableMessageException(
                    "Consumer " + consumer + " has no handler for events of type " + message.eventType());
        }
        return handler;
    }
}
