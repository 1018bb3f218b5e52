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

/** One event on its way to the broker, and the stage that its dispatcher waits for, which ends once; whatever is said later has no effect. Any thread may end it. */
final class Publish {

    /** Decided once, so that what was withdrawn is never sent, and what may have been sent is never withdrawn. */
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
    private final AtomicBoolean decided = new AtomicBoolean(); // its end is on its way to the executor
    private final AtomicReference<Fate> fate = new AtomicReference<>(Fate.WAITING);
    private volatile boolean sent;
    private volatile long sentNanos; // written before sent
    private volatile boolean suspected;
    private volatile boolean alone;

    /** The stage ends on the given executor: what depends on it is the code of others, which must not hold up the client's threads. */
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

    /** Confirmed, failed, put off, or cancelled by its dispatcher. */
    boolean isEnded() {
        return decided.get() || stage.isDone();
    }

    long ageNanos(long nowNanos) {
        return nowNanos - startedNanos;
    }

    /** Whether it has been handed to a channel, so that nobody but the broker knows its fate. */
    boolean isSent() {
        return sent;
    }

    /** It is about to be handed to a channel; false if it must not be. */
    boolean sending(long nowNanos) {
        if (!fate.compareAndSet(Fate.WAITING, Fate.SENT) && fate.get() == Fate.WITHDRAWN) {
            return false;
        }
        sentNanos = nowNanos;
        sent = true;
        return true;
    }

    /** Keeps it from being sent; false if it may have been, on whichever channel. */
    boolean withdraw() {
        return fate.compareAndSet(Fate.WAITING, Fate.WITHDRAWN) || fate.get() == Fate.WITHDRAWN;
    }

    /** When it was handed to a channel last. */
    long sentNanos() {
        return sentNanos;
    }

    /** Its channel was closed because of it or a neighbour. */
    void suspect(boolean mustBeAlone) {
        sent = false;
        alone = mustBeAlone || suspected;
        suspected = true;
    }

    boolean isSuspect() {
        return suspected;
    }

    /** Whether nothing else may be on its channel, so that what becomes of that is surely its doing. */
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

    /** Not the event's fault: no attempt counts. */
    void putOff(String why) {
        fail(new RetryLaterException(RetryLaterException.SHORTEST_UNCOUNTED, why));
    }

    /** The broker could not be used: counted only if the settings of the transport say so. */
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

    /** Once, so that what is told again and again does not pile up at the executor. */
    private void end(Runnable end) {
        if (decided.compareAndSet(false, true)) {
            ends.execute(end);
        }
    }
}
