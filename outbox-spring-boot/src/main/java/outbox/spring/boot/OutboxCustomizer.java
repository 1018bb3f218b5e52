package outbox.spring.boot;

import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.spi.EventStore;

/** Changes the parts of an outbox while they are built: all beans of this type are asked, in their order, for each outbox by its name. */
public interface OutboxCustomizer {

    default void dispatcher(String outbox, OutboxDispatcher.Builder builder) {}

    default void poller(String outbox, OutboxPoller.Builder builder) {}

    default void purge(String outbox, OutboxPurge.Builder builder) {}

    /** Returns the store to use, such as a decorator of the given one; all parts of the outbox are on it. */
    default EventStore store(String outbox, EventStore store) {
        return store;
    }

    /** Whether the outbox delivers, and purges, once the application has started. If not, its dispatcher and its poller are there, and somebody polls by hand. */
    default boolean startsByItself(String outbox) {
        return true;
    }

    /** Returns the writer to use, e.g. {@code writer.interceptedBy(…)}. */
    default OutboxWriter writer(String outbox, OutboxWriter writer) {
        return writer;
    }
}
