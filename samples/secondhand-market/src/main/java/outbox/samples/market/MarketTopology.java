package outbox.samples.market;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import outbox.rabbitmq.RabbitQueue;
import outbox.rabbitmq.RabbitTopology;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;

/** The exchange, queues and bindings that section 4 defines. */
final class MarketTopology {

    static final String EXCHANGE = "order.events.exchange";

    static final String INVENTORY_QUEUE = "inventory.update.queue";
    static final String FULFILLMENT_QUEUE = "order.fulfillment.queue";
    static final String STATUS_SYNC_QUEUE = "order.status.sync.queue";
    static final String TIMEOUT_DELAY_QUEUE = "order.timeout.delay.queue";
    static final String TIMEOUT_QUEUE = "order.timeout.queue";
    static final String DEAD_LETTER_QUEUE = "order.dlq.queue";
    static final List<String> QUEUES = List.of(
            INVENTORY_QUEUE,
            FULFILLMENT_QUEUE,
            STATUS_SYNC_QUEUE,
            TIMEOUT_DELAY_QUEUE,
            TIMEOUT_QUEUE,
            DEAD_LETTER_QUEUE);

    static final String DEAD_LETTER_KEY = "order.dlq";

    private static final String TIMEOUT_KEY = "order.timeout";

    private MarketTopology() {}

    static RabbitTopology of(Duration timeout) {
        return RabbitTopology.builder()
                .topicExchange(EXCHANGE)
                .queue(business(INVENTORY_QUEUE))
                .bind(INVENTORY_QUEUE, EXCHANGE, OrderEvent.ORDER_CREATED.routingKey())
                .queue(business(FULFILLMENT_QUEUE))
                .bind(FULFILLMENT_QUEUE, EXCHANGE, OrderEvent.ORDER_PAID.routingKey())
                .queue(business(STATUS_SYNC_QUEUE))
                .bind(STATUS_SYNC_QUEUE, EXCHANGE, OrderEvent.ORDER_STATUS_CHANGED.routingKey())
                .queue(RabbitQueue.named(TIMEOUT_DELAY_QUEUE)
                        .timeToLive(timeout)
                        .deadLetterTo(EXCHANGE, TIMEOUT_KEY))
                .bind(TIMEOUT_DELAY_QUEUE, EXCHANGE, OrderEvent.ORDER_TIMEOUT.routingKey())
                .queue(business(TIMEOUT_QUEUE))
                .bind(TIMEOUT_QUEUE, EXCHANGE, TIMEOUT_KEY)
                .queue(RabbitQueue.named(DEAD_LETTER_QUEUE))
                .bind(DEAD_LETTER_QUEUE, EXCHANGE, DEAD_LETTER_KEY)
                .build();
    }

    private static RabbitQueue business(String name) {
        return RabbitQueue.named(name).deadLetterTo(EXCHANGE, DEAD_LETTER_KEY);
    }

    /** Creates missing parts. If a part exists with other settings, this is reported and the part is not changed. */
    static void declare(ConnectionFactory broker, Duration timeout) {
        try (Connection connection = broker.newConnection("market-topology")) {
            of(timeout).declare(connection);
        } catch (IOException | TimeoutException e) {
            throw new IllegalStateException(
                    "RabbitMQ at " + broker.getHost() + ":" + broker.getPort() + " cannot be used: " + e.getMessage()
                            + ". Start it, or correct spring.rabbitmq.*",
                    e);
        }
    }
}
