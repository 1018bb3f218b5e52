package outbox.spring.boot;

import outbox.OutboxWriter;
import outbox.WriteInterceptor;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.OutboxDispatcher;

import java.util.function.Function;

/** Puts tracing around writes and deliveries, whatever makes the spans. */
final class TracingCustomizer implements OutboxCustomizer {

    private final Function<String, WriteInterceptor> writes; // by the name of the outbox, as the next
    private final Function<String, EventInterceptor> deliveries;

    TracingCustomizer(Function<String, WriteInterceptor> writes, Function<String, EventInterceptor> deliveries) {
        this.writes = writes;
        this.deliveries = deliveries;
    }

    @Override
    public void dispatcher(String outbox, OutboxDispatcher.Builder builder) {
        builder.interceptor(deliveries.apply(outbox));
    }

    @Override
    public OutboxWriter writer(String outbox, OutboxWriter writer) {
        return writer.interceptedBy(writes.apply(outbox));
    }
}
