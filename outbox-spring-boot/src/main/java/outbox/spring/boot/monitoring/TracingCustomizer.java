package outbox.spring.boot.monitoring;

import outbox.OutboxWriter;
import outbox.WriteInterceptor;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.OutboxDispatcher;
import outbox.spring.boot.OutboxCustomizer;

import java.util.function.Function;

/** Adds tracing to writes and deliveries, independent of the tracing library. */
final class TracingCustomizer implements OutboxCustomizer {

    private final Function<String, WriteInterceptor> writes; // by the name of the outbox
    private final Function<String, EventInterceptor> deliveries; // by the name of the outbox

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
