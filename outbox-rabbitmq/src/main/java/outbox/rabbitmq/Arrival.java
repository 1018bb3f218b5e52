package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Envelope;
import org.jspecify.annotations.Nullable;
import outbox.internal.text.PrintableText;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/** A received message. It is settled once, on the subscription that delivered it. */
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

    /** Whether this consumer may still settle the message. After the subscription ends, the broker redelivers it. */
    boolean isOurs() {
        return subscription.isOpen();
    }

    void ack() {
        settle(channel -> channel.basicAck(envelope.getDeliveryTag(), false));
    }

    /** Returns the message to its position in the queue. */
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
     * Parses the message on the first call and returns the cached result afterwards.
     *
     * @throws UnrecoverableMessageException if the message cannot be parsed
     */
    ReceivedMessage read() {
        ReceivedMessage known = message;
        if (known == null) {
            known = ReceivedMessage.parse(properties, body);
            message = known;
        }
        return known;
    }

    /**
     * Returns the event id, or the message id if the message cannot be parsed, or an empty string if it has neither.
     */
    String eventId() {
        try {
            return read().eventId();
        } catch (RuntimeException | Error e) { // the outcome of the message reports the failure
            return Objects.requireNonNullElse(properties.getMessageId(), "");
        }
    }

    /** Returns an empty string if the message has no trace id or cannot be parsed. */
    String traceId() {
        try {
            return read().traceId().orElse("");
        } catch (RuntimeException | Error e) { // the outcome of the message reports the failure
            return "";
        }
    }

    /** Describes the message for log lines, without its payload. */
    String describe(String queue, String consumer) {
        String id = eventId();
        return PrintableText.of("[eventId=" + (id.isEmpty() ? "(none)" : id) + " traceId=" + traceId() + " queue="
                + queue + " consumer=" + consumer + "]");
    }
}
