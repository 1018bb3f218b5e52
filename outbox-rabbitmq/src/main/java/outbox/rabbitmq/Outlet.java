package outbox.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Return;
import com.rabbitmq.client.ShutdownSignalException;
import outbox.rabbitmq.ConfirmTracker.Settled;
import outbox.rabbitmq.PublishRefusedException.Reason;
import outbox.spi.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * One channel in confirm mode, from its opening to its end, which is the end of this object too.
 *
 * <p>Threads: one lane publishes; the client's reader calls back. Whoever takes a message out of the tracker decides its fate, so nothing is decided twice.
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

    /** Suspects get what was on the channel when the broker closed it because of one of them, in order. */
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
        channel.addShutdownListener(outlet::closed); // called at once if it is closed already
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

    /** Answers false if the message was not taken because the channel has been closed; it may go to the next one. */
    boolean publish(Publish publish) {
        long tag = channel.getNextPublishSeqNo();
        if (!tracker.add(tag, publish)) {
            return false;
        }
        if (!publish.sending(System.nanoTime())) {
            tracker.settle(tag, false); // its dispatcher has ended it; the tag is for the next one
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
            return true; // who closes the channel finds it in the tracker
        } catch (IOException e) {
            link.cut("writing failed: " + e.getMessage()); // and this closes the channel
        } catch (IllegalArgumentException e) {
            // The client cannot encode it and has sent nothing, but has counted it: from here on its tags and the
            // broker's differ.
            tracker.settle(tag, false).forEach(settled -> settled.publish().giveUp(e));
            retire();
        } catch (RuntimeException | Error e) {
            // Such as of a metrics collector, or no memory: it may be sent or not, or in part, and is not to blame.
            LOG.log(Level.ERROR, "Publishing to RabbitMQ failed in the client; a new connection is made", e);
            link.cut("publishing failed: " + e);
        }
        return true;
    }

    /** Whether the broker owes its word on a message for longer than this, though it could have given it, and nobody waits for that any more. */
    boolean isSilent(long nanos) {
        Publish oldest = tracker.oldest();
        return oldest != null && oldest.isEnded() && link.waitedNanos(oldest.sentNanos(), System.nanoTime()) > nanos;
    }

    /** Nothing more is published here; what is on its way gets its answers. */
    private void retire() {
        try {
            tracker.awaitEmpty(Link.RPC_NANOS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        close();
    }

    /** What is on its way is put off. A channel of which the broker does not confirm the end takes the connection with it: its number must not be used again. */
    void close() {
        try {
            link.call(this::closeChannel);
        } catch (AlreadyClosedException e) {
            LOG.log(Level.DEBUG, "The channel has ended before", e);
        } catch (IOException | RuntimeException e) {
            link.cut("closing a channel failed: " + e.getMessage());
        }
    }

    private Channel closeChannel() throws IOException {
        try {
            channel.close();
            return channel;
        } catch (TimeoutException e) {
            throw new IOException("the broker did not answer", e);
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
            // Whose exchange is missing can be asked; everything else shows only when one is alone.
            settled.publish().suspect(close.getReplyCode() != NOT_FOUND);
            suspects.accept(settled.publish());
        }
    }
}
