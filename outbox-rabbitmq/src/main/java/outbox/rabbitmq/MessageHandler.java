package outbox.rabbitmq;

import java.sql.Connection;

/**
 * User code that handles a message, once per event.
 *
 * <p>After a failure the message is redelivered a limited number of times and then becomes a dead letter. {@link
 * UnrecoverableMessageException} makes it a dead letter at once. {@link outbox.RetryLaterException} sets the delay
 * before the next attempt, and whether the failure counts.
 */
@FunctionalInterface
public interface MessageHandler {

    /**
     * Handles the message in the transaction of the inbox. An exception rolls the transaction back.
     *
     * @param connection the connection of that transaction; the handler must neither commit nor close it
     */
    void handle(ReceivedMessage message, Connection connection) throws Exception;
}
