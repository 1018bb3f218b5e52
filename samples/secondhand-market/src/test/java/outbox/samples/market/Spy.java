package outbox.samples.market;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.GetResponse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeoutException;

/**
 * Direct access of a test to the broker: a queue that receives a copy of every message, and messages that the test
 * sends. Used by one thread.
 */
final class Spy implements AutoCloseable {

    private final Connection connection;
    private final Channel channel;
    private final String queue;

    Spy(Market market) throws IOException, TimeoutException {
        connection = market.broker().newConnection();
        channel = connection.createChannel();
        channel.confirmSelect();
        queue = channel.queueDeclare().getQueue(); // exclusive to this connection
        channel.queueBind(queue, MarketTopology.EXCHANGE, "#");
    }

    /** Removes the binding of its queue, so that an unroutable message is not delivered to it. */
    Spy blind() throws IOException {
        channel.queueUnbind(queue, MarketTopology.EXCHANGE, "#");
        return this;
    }

    Channel channel() {
        return channel;
    }

    /** Returns the next message that contains the text, or null if there is none. */
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
