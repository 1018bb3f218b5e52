package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** One event on its way to the broker, and the stage that its dispatcher waits for, which ends once; whatever is said later has no effect. Any thread may end it. */
final class Publish {

    private final EventEnvelope event;
    private final RabbitRoute route;
    private final RabbitMessage message;
    private final Executor ends;
    private final long startedNanos;
    private final CompletableFuture<@Nullable Void> stage = new CompletableFuture<>();
    private volatile boolean sent;
    private volatile boolean suspected;
    private volatile boolean alone;

    /** The stage ends on the given executor: what depends on it is the code of others, which must not hold up the client's threads. */
    Publish(EventEnvelope event, RabbitRoute route, RabbitMessage message, Executor ends, long nowNanos) {
        this.event = event;
        this.route = route;
        this.message = message;
        this.ends = ends;
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
        return stage.isDone();
    }

    long ageNanos(long nowNanos) {
        return nowNanos - startedNanos;
    }

    /** Whether it has been handed to a channel, so that nobody but the broker knows its fate. */
    boolean isSent() {
        return sent;
    }

    void sending() {
        sent = true;
    }

    /** Its channel was closed because of it or a neighbour. */
    void suspect(boolean mustBeAlone) {
        sent = false;
        alone = mustBeAlone || suspected;
        suspected = true;
    }

    /** Whether nothing else may be on its channel, so that what becomes of that is surely its doing. */
    boolean isAlone() {
        return alone;
    }

    void confirm() {
        ends.execute(() -> stage.complete(null));
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

    private void fail(Throwable why) {
        ends.execute(() -> stage.completeExceptionally(why));
    }
}
