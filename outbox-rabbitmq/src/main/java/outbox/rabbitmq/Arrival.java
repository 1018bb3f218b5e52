package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Envelope;

import java.util.concurrent.atomic.AtomicBoolean;

/** A message that has arrived and is to be settled once, by the subscription that brought it. */
final class Arrival {

    private final Subscription subscription;
    private final Envelope envelope;
    private final BasicProperties properties;
    private final byte[] body;
    private final AtomicBoolean settled = new AtomicBoolean();

    Arrival(Subscription subscription, Envelope envelope, BasicProperties properties, byte[] body) {
        this.subscription = subscription;
        this.envelope = envelope;
        this.properties = properties;
        this.body = body;
    }

    Envelope envelope() {
        return envelope;
    }

    BasicProperties properties() {
        return properties;
    }

    byte[] body() {
        return body;
    }

    /** Whether it is still ours: after the end of its subscription the broker gives it to somebody else. */
    boolean isOurs() {
        return subscription.isOpen();
    }

    void ack() {
        settle(channel -> channel.basicAck(envelope.getDeliveryTag(), false));
    }

    /** Puts it back to its place in the queue. */
    void requeue() {
        settle(channel -> channel.basicNack(envelope.getDeliveryTag(), false, true));
    }

    private void settle(Subscription.Settling settling) {
        if (settled.compareAndSet(false, true)) {
            subscription.settle(settling);
        }
    }

    /** For logs, which all name an event in the same way; never with its payload. */
    String describe(String queue, String consumer) {
        String id = properties.getMessageId() == null ? "(none)" : properties.getMessageId();
        String traceId = "";
        try {
            ReceivedMessage message = ReceivedMessage.parse(properties, body);
            id = message.eventId();
            traceId = message.traceId().orElse("");
        } catch (RuntimeException e) {
            // told by the outcome
        }
        return OneLine.of("[eventId=" + id + " traceId=" + traceId + " queue=" + queue + " consumer=" + consumer + "]");
    }
}
