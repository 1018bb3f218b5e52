package outbox.rabbitmq;

import java.sql.Connection;

/**
 * User code that does what a message asks for, once per event.
 *
 * <p>A failure is tried again some times, and then the message is a dead letter. {@link UnrecoverableMessageException} makes it one at once; {@link outbox.RetryLaterException} says when
 * to try again, counted or not.
 */
@FunctionalInterface
public interface MessageHandler {

    /**
     * Handles the message in the transaction of the inbox. What it throws rolls that back.
     *
     * @param connection of that transaction, which is neither to be committed nor to be closed here
     */
    void handle(ReceivedMessage message, Connection connection) throws Exception;
}
