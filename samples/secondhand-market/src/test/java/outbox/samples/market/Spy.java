package outbox.samples.market;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.GetResponse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeoutException;

/** A test's own hand at the broker: a queue that gets a copy of every message, and messages of the test's making. One thread only. */
final class Spy implements AutoCloseable {

    private final Connection connection;
    private final Channel channel;
    private final String queue;

    Spy(Market market) throws IOException, TimeoutException {
        connection = market.broker().newConnection();
        channel = connection.createChannel();
        channel.confirmSelect();
        queue = channel.queueDeclare().getQueue(); // of this connection alone
        channel.queueBind(queue, MarketTopology.EXCHANGE, "#");
    }

    /** Stops watching, so that a message without a queue has none. */
    Spy blind() throws IOException {
        channel.queueUnbind(queue, MarketTopology.EXCHANGE, "#");
        return this;
    }

    Channel channel() {
        return channel;
    }

    /** The next message that contains the text; null if none is there. */
    GetResponse next(String text) throws IOException {
        GetResponse message = channel.basicGet(queue, true);
        while (message != null && !new String(message.getBody(), StandardCharsets.UTF_8).contains(text)) {
            message = channel.basicGet(queue, true);
        }
        return message;
    }

    void publish(String routingKey, BasicProperties properties, String body)
            throws IOException, InterruptedException, TimeoutException {
        channel.basicPublish(MarketTopology.EXCHANGE, routingKey, properties, body.getBytes(StandardCharsets.UTF_8));
        channel.waitForConfirmsOrDie(10_000);
    }

    @Override
    public void close() throws IOException {
        connection.close();
    }
}
