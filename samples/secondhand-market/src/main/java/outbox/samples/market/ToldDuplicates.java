package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import outbox.inbox.Inbox;

import java.util.function.Consumer;

/** An inbox that reports the id of each event that was already handled. */
record ToldDuplicates(Inbox inbox, Consumer<String> onDuplicate) implements Inbox {

    @Override
    public <X extends Exception> boolean handle(
            String consumer, String eventId, @Nullable String eventType, Inbox.Action<X> action) throws X {
        boolean handled = inbox.handle(consumer, eventId, eventType, action);
        if (!handled) {
            onDuplicate.accept(eventId);
        }
        return handled;
    }
}
