package outbox.inbox;

import java.sql.Connection;

/**
 * The effect of an event.
 *
 * @param <X> the checked exceptions that the action may throw
 */
@FunctionalInterface
public interface InboxAction<X extends Exception> {

    /**
     * Applies the effect in the transaction that also records the event. An exception rolls both back.
     *
     * @param connection the connection of that transaction; the action must neither commit nor close it
     */
    void run(Connection connection) throws X;
}
