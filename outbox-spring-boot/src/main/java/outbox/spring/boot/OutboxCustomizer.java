package outbox.spring.boot;

import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.spi.EventStore;

/**
 * Changes the parts of an outbox while they are built. All beans of this type are called in their order, once for
 * each outbox with its name.
 */
public interface OutboxCustomizer {

    default void dispatcher(String outbox, OutboxDispatcher.Builder builder) {}

    default void poller(String outbox, OutboxPoller.Builder builder) {}

    default void purge(String outbox, OutboxPurge.Builder builder) {}

    /** Returns the store to use, for example a decorator of the given one. All parts of the outbox use it. */
    default EventStore store(String outbox, EventStore store) {
        return store;
    }

    /**
     * Whether the outbox starts to deliver and purge when the application has started. If false, the dispatcher and
     * the poller exist, and the application must poll by itself.
     */
    default boolean startsByItself(String outbox) {
        return true;
    }

    /** Returns the writer to use, for example {@code writer.interceptedBy(…)}. */
    default OutboxWriter writer(String outbox, OutboxWriter writer) {
        return writer;
    }
}
