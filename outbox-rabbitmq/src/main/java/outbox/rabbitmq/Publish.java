package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.OutboxException;
import outbox.RetryLaterException;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One event that is being published, and the stage that the dispatcher waits for. The stage completes once; later
 * results are ignored. Thread-safe.
 */
final class Publish {

    /** Set once: a withdrawn event is never sent, and an event that may have been sent is never withdrawn. */
    private enum Fate {
        WAITING,
        SENT,
        WITHDRAWN
    }

    private final EventEnvelope event;
    private final RabbitRoute route;
    private final RabbitMessage message;
    private final Executor ends;
    private final boolean countsOutages;
    private final long startedNanos;
    private final CompletableFuture<@Nullable Void> stage = new CompletableFuture<>();
    private final AtomicBoolean decided = new AtomicBoolean(); // the completion was handed to the executor
    private final AtomicReference<Fate> fate = new AtomicReference<>(Fate.WAITING);
    private volatile boolean sent;
    private volatile long sentNanos; // written before sent
    private volatile boolean suspected;
    private volatile boolean alone;

    /** @param ends completes the stage: dependent actions are user code and must not block the client's threads */
    Publish(
            EventEnvelope event,
            RabbitRoute route,
            RabbitMessage message,
            Executor ends,
            boolean countsOutages,
            long nowNanos) {
        this.event = event;
        this.route = route;
        this.message = message;
        this.ends = ends;
        this.countsOutages = countsOutages;
        startedNanos = nowNanos;
    }

    String eventId() {
        return event.eventId();
    }

    RabbitRoute route() {
        return route;
    }

    RabbitMessage message() {
        return message;
    }

    CompletableFuture<@Nullable Void> stage() {
        return stage;
    }

    /** Whether the event was confirmed, failed, postponed, or cancelled by its dispatcher. */
    boolean isEnded() {
        return decided.get() || stage.isDone();
    }

    long ageNanos(long nowNanos) {
        return nowNanos - startedNanos;
    }

    /** Whether the event was handed to a channel. Then only the broker knows whether it arrived. */
    boolean isSent() {
        return sent;
    }

    /** Notes that the event is being handed to a channel. Returns false if it was withdrawn. */
    boolean sending(long nowNanos) {
        if (!fate.compareAndSet(Fate.WAITING, Fate.SENT) && fate.get() == Fate.WITHDRAWN) {
            return false;
        }
        sentNanos = nowNanos;
        sent = true;
        return true;
    }

    /** Prevents sending. Returns false if the event may already have been sent. */
    boolean withdraw() {
        return fate.compareAndSet(Fate.WAITING, Fate.WITHDRAWN) || fate.get() == Fate.WITHDRAWN;
    }

    /** When the event was last handed to a channel. */
    long sentNanos() {
        return sentNanos;
    }

    /** Notes that the broker closed the channel because of this event or another one on it. */
    void suspect(boolean mustBeAlone) {
        sent = false;
        alone = mustBeAlone || suspected;
        suspected = true;
    }

    boolean isSuspect() {
        return suspected;
    }

    /** Whether the event must be alone on its channel, so that an error is clearly caused by it. */
    boolean isAlone() {
        return alone;
    }

    void confirm() {
        end(() -> stage.complete(null));
    }

    void refuse(PublishRefusedException.Reason reason, String why) {
        fail(new PublishRefusedException(reason, "RabbitMQ refused event " + eventId() + " (" + route + "): " + why));
    }

    void giveUp(Throwable why) {
        fail(new GiveUpException("Event " + eventId() + " cannot be published (" + route + "): " + why, why));
    }

    /** Postpones the event without counting an attempt. */
    void putOff(String why) {
        fail(new RetryLaterException(RetryLaterException.SHORTEST_UNCOUNTED, why));
    }

    /** Reports that the broker could not be used. The attempt counts only if the transport is configured so. */
    void outage(String why) {
        if (countsOutages) {
            fail(new OutboxException("Event " + eventId() + " was not sent: " + why, null));
        } else {
            putOff(why);
        }
    }

    private void fail(Throwable why) {
        end(() -> stage.completeExceptionally(why));
    }

    /** Completes the stage once, so that repeated results do not fill the executor's queue. */
    private void end(Runnable end) {
        if (decided.compareAndSet(false, true)) {
            ends.execute(end);
        }
    }
}
