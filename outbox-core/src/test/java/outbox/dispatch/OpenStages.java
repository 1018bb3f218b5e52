package outbox.dispatch;

import outbox.AsyncEventListener;
import outbox.EventEnvelope;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** An asynchronous listener whose stages the test completes. */
final class OpenStages implements AsyncEventListener {

    final List<String> started = new CopyOnWriteArrayList<>(); // event ids
    final AtomicInteger mostInFlight = new AtomicInteger();
    private final Map<String, CompletableFuture<Void>> stages = new ConcurrentHashMap<>(); // by event id
    private final AtomicInteger inFlight = new AtomicInteger();
    private final int bound;

    OpenStages(int bound) {
        this.bound = bound;
    }

    @Override
    public CompletionStage<?> onEventAsync(EventEnvelope event) {
        CompletableFuture<Void> stage = new CompletableFuture<>();
        mostInFlight.accumulateAndGet(inFlight.incrementAndGet(), Math::max);
        stages.put(event.eventId(), stage);
        started.add(event.eventId());
        return stage;
    }

    @Override
    public int maxInFlight() {
        return bound;
    }

    CompletableFuture<Void> stageOf(QueuedEvent event) {
        return Objects.requireNonNull(stages.get(event.envelope().eventId()), "not started");
    }

    void complete(QueuedEvent event) {
        inFlight.decrementAndGet(); // before the completion, because it may start the next event on another thread
        stageOf(event).complete(null);
    }

    void fail(QueuedEvent event, Throwable why) {
        inFlight.decrementAndGet();
        stageOf(event).completeExceptionally(why);
    }

    boolean hasStarted(QueuedEvent event) {
        return started.contains(event.envelope().eventId());
    }
}
