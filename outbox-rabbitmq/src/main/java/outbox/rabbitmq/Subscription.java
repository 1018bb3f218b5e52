package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.ShutdownSignalException;
import outbox.internal.text.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * One connection that consumes one queue, from open to close. Only this subscription can settle its messages:
 * delivery tags restart at 1 on each channel, so an ack on a later channel would settle another message.
 */
final class Subscription implements AutoCloseable {

    private static final Logger LOG = SafeLogger.of(Subscription.class);
    private static final int CLOSE_LIMIT_MILLIS = (int) TimeUnit.SECONDS.toMillis(2);

    private final Connection connection;
    private final Channel channel;
    private final String consumerTag;
    private final CompletableFuture<String> end = new CompletableFuture<>(); // the reason of the end

    /**
     * Opens the connection and starts to consume.
     *
     * @param dispatch runs the callbacks; it is not shut down here
     */
    Subscription(
            ConnectionFactory factory,
            ExecutorService dispatch,
            String name,
            String queue,
            int prefetch,
            Consumer<Arrival> sink)
            throws IOException, TimeoutException {
        connection = factory.newConnection(dispatch, name);
        try {
            connection.addShutdownListener(cause -> end.complete(cause.getMessage()));
            Channel opened = connection.createChannel();
            if (opened == null) {
                throw new IOException("The connection has no channel left");
            }
            channel = opened;
            channel.addShutdownListener(cause -> end.complete(cause.getMessage()));
            channel.basicQos(prefetch);
            consumerTag = channel.basicConsume(queue, false, new Sink(channel, queue, sink));
        } catch (IOException | RuntimeException | Error e) {
            connection.abort(CLOSE_LIMIT_MILLIS);
            throw e;
        }
    }

    private final class Sink extends DefaultConsumer {

        private final String queue;
        private final Consumer<Arrival> sink;

        Sink(Channel channel, String queue, Consumer<Arrival> sink) {
            super(channel);
            this.queue = queue;
            this.sink = sink;
        }

        @Override
        public void handleDelivery(String tag, Envelope envelope, BasicProperties properties, byte[] body) {
            sink.accept(new Arrival(Subscription.this, envelope, properties, body));
        }

        @Override
        public void handleCancel(String tag) {
            end.complete("Queue " + queue + " was deleted, or moved to another node");
        }
    }

    boolean isOpen() {
        return !end.isDone() && channel.isOpen();
    }

    /** Completes with the reason when the subscription ends. */
    CompletableFuture<String> end() {
        return end;
    }

    /** Stops the delivery of messages. Messages that have arrived can still be settled. */
    void cancel() {
        try {
            channel.basicCancel(consumerTag);
        } catch (IOException | ShutdownSignalException e) {
            LOG.log(Level.DEBUG, "The subscription ended before it was cancelled", e);
        }
    }

    void settle(Settling settling) {
        if (!isOpen()) {
            return; // the broker redelivers the message
        }
        try {
            settling.on(channel);
        } catch (IOException | ShutdownSignalException e) {
            LOG.log(Level.DEBUG, "The connection was lost before a message was settled; the broker redelivers it", e);
        }
    }

    /** Acks or nacks a message. */
    interface Settling {
        void on(Channel channel) throws IOException;
    }

    /** Unsettled messages return to the queue. */
    @Override
    public void close() {
        end.complete("closed");
        connection.abort(CLOSE_LIMIT_MILLIS);
    }
}
