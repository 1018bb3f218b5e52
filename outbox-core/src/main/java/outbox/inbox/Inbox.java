package outbox.inbox;

import org.jspecify.annotations.Nullable;

/**
 * Remembers which events a consumer has handled, in the transaction of their effect: an event that comes twice, one after the other or at the same time, takes effect once. Needs no broker.
 *
 * <p>If the calling thread is inside a transaction that the inbox knows, it joins that: mark and effect are there once the caller commits. Otherwise it begins a transaction and commits
 * it. Of several copies at the same time one runs, and the others wait for its end: if it committed, they skip; if it rolled back, the next one runs. Thread-safe.
 */
public interface Inbox {

    /**
     * Runs the action unless this consumer has handled the event before.
     *
     * <p>If the action fails, the event is not remembered, and its failure is thrown as it is. A transaction that was joined can then only be rolled back.
     *
     * @param consumer who handles the event: each consumer handles it once
     * @param eventType the type of the event; only tables that keep it need it
     * @return true if the action ran and was committed, or is to be committed by the caller; false if the event was handled before
     * @throws InboxException if the event is to come again, through no fault of its own; a wrong setting is none of its own
     * @throws IllegalArgumentException if the inbox cannot remember an event of such an id or type
     */
    <X extends Exception> boolean handle(
            String consumer, String eventId, @Nullable String eventType, InboxAction<X> action) throws X;

    /** The same, for inboxes that do not keep the type. */
    default <X extends Exception> boolean handle(String consumer, String eventId, InboxAction<X> action) throws X {
        return handle(consumer, eventId, null, action);
    }
}
