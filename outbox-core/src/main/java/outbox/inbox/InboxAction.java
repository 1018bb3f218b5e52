package outbox.inbox;

import java.sql.Connection;

/**
 * The effect of an event.
 *
 * @param <X> what it may throw besides unchecked exceptions
 */
@FunctionalInterface
public interface InboxAction<X extends Exception> {

    /**
     * Does what the event asks for, in the transaction that also remembers the event. What it throws rolls both back.
     *
     * @param connection of that transaction, which is neither to be committed nor to be closed here
     */
    void run(Connection connection) throws X;
}
