package outbox.spring.boot.rabbit;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.CircuitBreaker;
import outbox.rabbitmq.RabbitRoute;
import outbox.rabbitmq.RabbitTransport;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.OutboxNames;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * Adds one listener for each outbox with routes to RabbitMQ. All of them use the one transport of the application.
 */
final class RabbitRoutes implements ListenerSource, SmartInitializingSingleton {

    // added to the limit of the listener, so that the limit of the transport ends first
    private static final Duration AFTER_CONFIRM = Duration.ofSeconds(10);

    private final List<RabbitWay> ways;
    private final OutboxRabbitProperties settings;
    private final Supplier<RabbitTransport> transport;
    private final RabbitTopologies topologies;
    private final @Nullable CircuitBreaker breaker;
    private final ObjectProvider<OutboxInstance> outboxes;

    RabbitRoutes(
            List<RabbitWay> ways,
            OutboxRabbitProperties settings,
            Supplier<RabbitTransport> transport,
            RabbitTopologies topologies,
            @Nullable CircuitBreaker breaker,
            ObjectProvider<OutboxInstance> outboxes) {
        this.ways = ways;
        this.settings = settings;
        this.transport = transport;
        this.topologies = topologies;
        this.breaker = breaker;
        this.outboxes = outboxes;
    }

    @Override
    public void addTo(String outbox, OutboxListeners listeners) {
        List<RabbitWay> own = ways.stream().filter(way -> way.isFor(outbox)).toList();
        if (own.isEmpty()) {
            return;
        }
        OutboxListeners known = new OutboxListeners();
        own.forEach(way -> way.addTo(known));
        EventListener listener =
                new Bounded(transport.get().routed(event -> wayOf(known, event)), settings.maxInFlight());
        for (RabbitWay way : own) {
            for (String type : way.types()) {
                listeners.add(new OutboxListeners.Entry(
                        way.aggregate(),
                        type,
                        listener,
                        way.origin(),
                        null,
                        settings.confirmTimeout().plus(AFTER_CONFIRM),
                        null));
            }
        }
        if (breaker != null) {
            listeners.guard(transport.get().listenerName(), breaker);
        }
    }

    private @Nullable RabbitRoute wayOf(OutboxListeners known, EventEnvelope event) {
        topologies.requireDeclared();
        return known.listenerFor(event.aggregateType(), event.eventType()) instanceof RabbitWay.Holder holder
                ? holder.way().of(event)
                : null;
    }

    /** Throws if a route names an outbox that does not exist, because such a route would silently have no effect. */
    @Override
    public void afterSingletonsInstantiated() {
        OutboxNames.require(outboxes, ways.stream().map(way -> new OutboxNames.Use(way.outbox(), way.origin())));
    }

    /** The transport with the in-flight limit of one outbox. The transport itself has room for all outboxes. */
    private record Bounded(AsyncEventListener listener, int maxInFlight) implements AsyncEventListener {

        @Override
        public CompletionStage<?> onEventAsync(EventEnvelope event) throws Exception {
            return listener.onEventAsync(event);
        }

        @Override
        public boolean withdraw(EventEnvelope event) {
            return listener.withdraw(event);
        }

        @Override
        public @Nullable String listenerName() {
            return listener.listenerName();
        }
    }
}
