package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Envelope;
import org.jspecify.annotations.Nullable;
import outbox.spi.PrintableText;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/** A message that has arrived and is to be settled once, by the subscription that brought it. */
final class Arrival {

    private final Subscription subscription;
    private final Envelope envelope;
    private final BasicProperties properties;
    private final byte[] body;
    private final AtomicBoolean settled = new AtomicBoolean();
    private volatile @Nullable ReceivedMessage message; // the first reader writes it

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

    /** Lets the broker move it to the dead-letter exchange of its queue. */
    void reject() {
        settle(channel -> channel.basicNack(envelope.getDeliveryTag(), false, false));
    }

    private void settle(Subscription.Settling settling) {
        if (settled.compareAndSet(false, true)) {
            subscription.settle(settling);
        }
    }

    /**
     * Reads it, once.
     *
     * @throws UnrecoverableMessageException if nobody can
     */
    ReceivedMessage read() {
        ReceivedMessage known = message;
        if (known == null) {
            known = ReceivedMessage.parse(properties, body);
            message = known;
        }
        return known;
    }

    /** The id of the event; that of the message if it cannot be read, empty if there is none. */
    String eventId() {
        try {
            return read().eventId();
        } catch (RuntimeException | Error e) { // the outcome of the message tells
            return Objects.requireNonNullElse(properties.getMessageId(), "");
        }
    }

    /** Empty if it has none, or cannot be read. */
    String traceId() {
        try {
            return read().traceId().orElse("");
        } catch (RuntimeException | Error e) { // the outcome of the message tells
            return "";
        }
    }

    /** For logs, which all name an event in the same way; never with its payload. */
    String describe(String queue, String consumer) {
        String id = eventId();
        return PrintableText.of("[eventId=" + (id.isEmpty() ? "(none)" : id) + " traceId=" + traceId() + " queue="
                + queue + " consumer=" + consumer + "]");
    }
}
