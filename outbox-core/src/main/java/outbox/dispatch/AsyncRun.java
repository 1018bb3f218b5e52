package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.DeliveryOutcome;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * An event that an asynchronous listener processes. The run ends once: when its stage completes, or
 * by a cancellation.
 */
final class AsyncRun {

    private static final Logger LOG = SafeLogger.of(AsyncRun.class);

    private final DispatcherParts parts;
    private final DeliveryChain chain;
    private final Delivery delivery;
    private final AsyncEventListener listener;
    private final Consumer<@Nullable Throwable> decide; // receives the failure of the run, or null
    private final AtomicBoolean ended = new AtomicBoolean();

    AsyncRun(
            DispatcherParts parts,
            DeliveryChain chain,
            Delivery delivery,
            AsyncEventListener listener,
            Consumer<@Nullable Throwable> decide) {
        this.parts = parts;
        this.chain = chain;
        this.delivery = delivery;
        this.listener = listener;
        this.decide = decide;
    }

    /** Called when the listener has returned its stage. */
    void started(CompletionStage<?> stage) {
        delivery.leaveThread(() -> parts.pool.execute(() -> cancel(stage)));
        stage.whenComplete((result, failure) -> end(failure == null ? failureIn(result) : unwrapped(failure)));
    }

    /**
     * Ends the run before it cancels the stage: the result of a cancelled stage says nothing about the event. The
     * place of the listener is freed after both, so that a close that waits for it returns with the stage cancelled.
     */
    private void cancel(CompletionStage<?> stage) {
        if (delivery.isCutShort()) {
            boolean withdrawn = isWithdrawn();
            end(new CancellationException("The dispatcher closes, or the lease was lost"), () -> {
                if (withdrawn) {
                    parts.endings.release(delivery);
                } else {
                    parts.endings.expire(delivery);
                }
                cancelStage(stage);
            });
        } else {
            Exception why = new TimeoutException("The asynchronous listener did not complete within its time limit");
            end(why, () -> {
                decide.accept(why);
                cancelStage(stage);
            });
        }
    }

    private void cancelStage(CompletionStage<?> stage) {
        try {
            stage.toCompletableFuture().cancel(true);
        } catch (RuntimeException | Error e) { // not every stage is a future
            LOG.log(Level.DEBUG, "The stage of event " + delivery.eventId() + " cannot be cancelled", e);
        }
    }

    private boolean isWithdrawn() {
        try {
            return listener.withdraw(delivery.envelope());
        } catch (RuntimeException | Error e) {
            LOG.log(Level.ERROR, "The listener failed to withdraw event " + delivery.eventId(), e);
            return false;
        }
    }

    private static @Nullable Throwable failureIn(@Nullable Object result) {
        return result instanceof DeliveryOutcome outcome ? outcome.failure() : null;
    }

    private static @Nullable Throwable unwrapped(@Nullable Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    void end(@Nullable Throwable failure) {
        end(failure, () -> decide.accept(failure));
    }

    private void end(@Nullable Throwable failure, Runnable decision) {
        if (!ended.compareAndSet(false, true)) {
            return;
        }
        try {
            chain.after(delivery.envelope(), failure);
        } finally {
            delivery.endAsync();
            decision.run();
            parts.asyncRuns.leave(listener);
        }
    }
}
