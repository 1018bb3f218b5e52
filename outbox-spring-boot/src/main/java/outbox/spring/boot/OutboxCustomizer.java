package outbox.spring.boot;

import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;

/** Changes the parts of an outbox while they are built: all beans of this type are asked, in their order, for each outbox by its name. */
public interface OutboxCustomizer {

    default void dispatcher(String outbox, OutboxDispatcher.Builder builder) {}

    default void poller(String outbox, OutboxPoller.Builder builder) {}

    /** Returns the writer to use, e.g. {@code writer.interceptedBy(…)}. */
    default OutboxWriter writer(String outbox, OutboxWriter writer) {
        return writer;
    }
}
