package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import org.jspecify.annotations.Nullable;
import outbox.testing.server.RabbitServer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import static org.awaitility.Awaitility.await;

/**
 * A virtual host with a queue of the order platform, as its document defines it, and an AMQP client to inspect it.
 * Used by the test thread only.
 */
final class OrderBroker implements AutoCloseable {

    static final String EXCHANGE = "order.events.exchange";
    static final String QUEUE = "inventory.update.queue";
    static final String DEAD = "order.dlq.queue";

    final RabbitServer server;
    final String virtualHost;
    private @Nullable Connection connection;

    OrderBroker(RabbitServer server) throws Exception {
        this.server = server;
        virtualHost = server.createVirtualHost();
        Channel channel = channel();
        channel.exchangeDeclare(EXCHANGE, "topic", true);
        Map<String, Object> toDead =
                Map.of("x-dead-letter-exchange", EXCHANGE, "x-dead-letter-routing-key", "order.dlq");
        channel.queueDeclare(QUEUE, true, false, false, toDead);
        channel.queueBind(QUEUE, EXCHANGE, "order.created");
        channel.queueDeclare(DEAD, true, false, false, null);
        channel.queueBind(DEAD, EXCHANGE, "order.dlq");
    }

    ConnectionFactory factory() throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(server.uri(virtualHost));
        return factory;
    }

    /** Returns a channel on a separate connection, which is reopened after a restart of the broker. */
    Channel channel() throws Exception {
        Connection known = connection;
        if (known == null || !known.isOpen()) {
            ConnectionFactory factory = factory();
            factory.setAutomaticRecoveryEnabled(false);
            known = factory.newConnection("test");
            connection = known;
        }
        return known.createChannel();
    }

    static String contract(String eventId, String eventType) {
        return """
                {"eventId":"%s","eventType":"%s","aggregateType":"Order","aggregateId":900001,"occurredAt":"2026-02-04T10:30:00Z",
                 "traceId":"trace-1","payload":{"orderId":900001, "totalAmount":88.50}}""".formatted(eventId, eventType);
    }

    void publish(String... eventIds) throws Exception {
        for (String id : eventIds) {
            publishBody(
                    contract(id, "ORDER_CREATED"),
                    new BasicProperties.Builder().messageId(id).deliveryMode(2).build());
        }
    }

    void publishBody(String body, BasicProperties properties) throws Exception {
        Channel channel = channel();
        channel.confirmSelect();
        channel.basicPublish(EXCHANGE, "order.created", true, properties, body.getBytes(StandardCharsets.UTF_8));
        channel.waitForConfirmsOrDie(10_000);
        channel.close();
    }

    long ready(String queue) throws Exception {
        Channel channel = channel();
        try {
            return channel.messageCount(queue);
        } finally {
            channel.close();
        }
    }

    void awaitReady(String queue, long count) {
        await().atMost(Duration.ofSeconds(30)).until(() -> ready(queue) == count);
    }

    /** Removes and returns all messages of a queue. */
    List<GetResponse> drain(String queue) throws Exception {
        Channel channel = channel();
        List<GetResponse> all = new ArrayList<>();
        for (GetResponse next = channel.basicGet(queue, true); next != null; next = channel.basicGet(queue, true)) {
            all.add(next);
        }
        channel.close();
        return all;
    }

    static String header(GetResponse message, String name) {
        return String.valueOf(message.getProps().getHeaders().get(name));
    }

    @Override
    public void close() throws IOException {
        Connection known = connection;
        if (known != null && known.isOpen()) {
            known.close();
        }
    }
}
