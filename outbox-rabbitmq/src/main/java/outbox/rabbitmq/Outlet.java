package outbox.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Return;
import com.rabbitmq.client.ShutdownSignalException;
import outbox.internal.text.SafeLogger;
import outbox.rabbitmq.ConfirmTracker.Settled;
import outbox.rabbitmq.PublishRefusedException.Reason;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * One channel in confirm mode, from open to close.
 *
 * <p>Threads: one lane publishes; the reader thread of the client runs the callbacks. Only the thread that removes a
 * message from the tracker completes it, so no message is completed twice.
 */
final class Outlet {

    private static final Logger LOG = SafeLogger.of(Outlet.class);
    private static final int NOT_FOUND = 404;
    private static final int BASIC_CLASS = 60;
    private static final int PUBLISH_METHOD = 40;

    private final Link link;
    private final Channel channel;
    private final Consumer<Publish> suspects;
    private final ConfirmTracker tracker = new ConfirmTracker();

    private Outlet(Link link, Channel channel, Consumer<Publish> suspects) {
        this.link = link;
        this.channel = channel;
        this.suspects = suspects;
    }

    /**
     * Opens a channel.
     *
     * @param suspects receives, in order, the messages that were on the channel when the broker closed it because of
     *     one of them
     */
    static Outlet open(Link link, Consumer<Publish> suspects) throws IOException {
        Channel channel = link.newChannel();
        Outlet outlet = new Outlet(link, channel, suspects);
        try {
            link.call(channel::confirmSelect);
        } catch (IOException | RuntimeException e) {
            outlet.close();
            throw e;
        }
        channel.addConfirmListener(outlet::acked, outlet::nacked);
        channel.addReturnListener(outlet::returned);
        channel.addShutdownListener(outlet::closed); // called immediately if the channel is already closed
        return outlet;
    }

    boolean isOf(Link current) {
        return link == current && channel.isOpen();
    }

    boolean holds(Publish publish) {
        return tracker.holds(publish.eventId());
    }

    boolean awaitEmpty(long nanos) throws InterruptedException {
        return tracker.awaitEmpty(nanos);
    }

    /**
     * Returns false if the message was not accepted because the channel is closed. The caller may publish it on the
     * next channel.
     */
    boolean publish(Publish publish) {
        long tag = channel.getNextPublishSeqNo();
        if (!tracker.add(tag, publish)) {
            return false;
        }
        if (!publish.sending(System.nanoTime())) {
            tracker.settle(tag, false); // withdrawn by the dispatcher; the next message gets the tag
            return true;
        }
        RabbitRoute route = publish.route();
        RabbitMessage message = publish.message();
        try {
            link.call(() -> {
                channel.basicPublish(route.exchange(), route.routingKey(), true, message.properties(), message.body());
                return tag;
            });
        } catch (AlreadyClosedException e) {
            return true; // the shutdown callback finds the message in the tracker
        } catch (IOException e) {
            link.cut("writing failed: " + e.getMessage()); // this also closes the channel
        } catch (IllegalArgumentException e) {
            // The client could not encode the message and sent nothing, but counted it. From now on its tags and the
            // tags of the broker differ.
            tracker.settle(tag, false).forEach(settled -> settled.publish().giveUp(e));
            retire();
        } catch (RuntimeException | Error e) {
            // For example from a metrics collector, or no memory. The message may be sent fully, partly or not at
            // all; it did not cause the failure.
            LOG.log(Level.ERROR, "Publishing to RabbitMQ failed in the client; a new connection is made", e);
            link.cut("publishing failed: " + e);
        }
        return true;
    }

    /**
     * Whether the broker has not confirmed the oldest message for longer than this, although it was not blocked, and
     * the event was already postponed.
     */
    boolean isSilent(long nanos) {
        Publish oldest = tracker.oldest();
        return oldest != null && oldest.isEnded() && link.waitedNanos(oldest.sentNanos(), System.nanoTime()) > nanos;
    }

    /** Waits for the confirms of pending messages, then closes the channel. */
    private void retire() {
        try {
            tracker.awaitEmpty(Link.RPC_NANOS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        close();
    }

    /**
     * Closes the channel and postpones the pending messages. If the broker does not confirm the close, cuts the
     * connection, because the channel number must not be reused.
     */
    void close() {
        try {
            link.call(this::closeChannel);
        } catch (AlreadyClosedException e) {
            LOG.log(Level.DEBUG, "The channel was already closed", e);
        } catch (IOException | RuntimeException e) {
            link.cut("closing a channel failed: " + e.getMessage());
        }
    }

    private Channel closeChannel() throws IOException {
        try {
            channel.close();
            return channel;
        } catch (TimeoutException e) {
            throw new IOException("the broker did not respond", e);
        }
    }

    private void acked(long tag, boolean multiple) {
        for (Settled settled : tracker.settle(tag, multiple)) {
            if (settled.returned().isEmpty()) {
                settled.publish().confirm();
            } else {
                settled.publish().refuse(Reason.UNROUTABLE, settled.returned());
            }
        }
    }

    private void nacked(long tag, boolean multiple) {
        for (Settled settled : tracker.settle(tag, multiple)) {
            if (settled.returned().isEmpty()) {
                settled.publish().refuse(Reason.NACKED, "nacked, such as by a full queue");
            } else {
                settled.publish().refuse(Reason.UNROUTABLE, settled.returned());
            }
        }
    }

    private void returned(Return returned) {
        String eventId = Objects.requireNonNullElse(returned.getProperties().getMessageId(), "");
        tracker.returned(eventId, returned.getReplyCode() + " " + returned.getReplyText() + ", no queue takes it");
    }

    private void closed(ShutdownSignalException cause) {
        List<Settled> rest = tracker.close();
        if (!(cause.getReason() instanceof AMQP.Channel.Close close)
                || close.getClassId() != BASIC_CLASS
                || close.getMethodId() != PUBLISH_METHOD) {
            rest.forEach(settled -> settled.publish().outage("The channel to RabbitMQ ended before it confirmed"));
            return;
        }
        rest.forEach(settled -> link.forgetExchange(settled.publish().route().exchange()));
        if (rest.size() == 1) {
            Reason reason = close.getReplyCode() == NOT_FOUND ? Reason.NO_EXCHANGE : Reason.CHANNEL_CLOSED;
            rest.get(0).publish().refuse(reason, close.getReplyText());
            return;
        }
        for (Settled settled : rest) {
            // A missing exchange can be checked per event. For any other error, each event must be published alone.
            settled.publish().suspect(close.getReplyCode() != NOT_FOUND);
            suspects.accept(settled.publish());
        }
    }
}
