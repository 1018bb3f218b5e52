package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;

import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** A listener that publishes through a transport, with its own route function. */
final class RoutedListener implements AsyncEventListener {

    private final RabbitTransport transport;
    private final Function<EventEnvelope, @Nullable RabbitRoute> ways;

    RoutedListener(RabbitTransport transport, Function<EventEnvelope, @Nullable RabbitRoute> ways) {
        this.transport = transport;
        this.ways = ways;
    }

    @Override
    public CompletionStage<?> onEventAsync(EventEnvelope event) {
        return transport.publish(event, ways);
    }

    @Override
    public boolean withdraw(EventEnvelope event) {
        return transport.withdraw(event);
    }

    @Override
    public String listenerName() {
        return transport.listenerName();
    }

    @Override
    public int maxInFlight() {
        return transport.maxInFlight();
    }
}
