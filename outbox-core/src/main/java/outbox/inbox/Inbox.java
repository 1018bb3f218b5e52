package outbox.inbox;

import org.jspecify.annotations.Nullable;

import java.sql.Connection;

/**
 * Records which events a consumer has handled, in the same transaction as their effect. An event that arrives twice,
 * in sequence or concurrently, takes effect once. No broker is needed.
 *
 * <p>If the calling thread is inside a transaction that the inbox knows, the inbox joins it: entry and effect become
 * permanent when the caller commits. Otherwise the inbox begins a transaction and commits it. If several copies
 * arrive concurrently, one runs and the others wait for its end. If it commits, they are skipped; if it rolls back,
 * the next one runs. Thread-safe.
 */
public interface Inbox {

    /**
     * Runs the action unless this consumer has already handled the event.
     *
     * <p>If the action fails, the event is not recorded and the exception is thrown unchanged. A joined transaction
     * can then only be rolled back.
     *
     * @param consumer the name of the consumer; each consumer handles the event once
     * @param eventType the type of the event; needed only for tables that store it
     * @return true if the action ran and was committed, or will be committed by the caller; false if the event was
     * handled before
     * @throws InboxException if the event must be delivered again although the event itself is not the cause, for
     * example because of a wrong setting
     * @throws IllegalArgumentException if the inbox cannot store the id or type of the event
     */
    <X extends Exception> boolean handle(String consumer, String eventId, @Nullable String eventType, Action<X> action)
            throws X;

    /** Like the other method, for inboxes that do not store the type. */
    default <X extends Exception> boolean handle(String consumer, String eventId, Action<X> action) throws X {
        return handle(consumer, eventId, null, action);
    }

    /**
     * The effect of an event.
     *
     * @param <X> the checked exceptions that the action may throw
     */
    @FunctionalInterface
    interface Action<X extends Exception> {

        /**
         * Applies the effect in the transaction that also records the event. An exception rolls both back.
         *
         * @param connection the connection of that transaction; the action must neither commit nor close it
         */
        void run(Connection connection) throws X;
    }
}
