package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventListener;
import outbox.internal.ListenerSettings;
import outbox.internal.text.SafeLogger;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;

/**
 * Runs events on a worker thread: claims them if needed, calls their listener and decides the outcome. There is one
 * method for each kind of listener.
 */
final class EventRun implements Worker.Deliverer {

    private static final Logger LOG = SafeLogger.of(EventRun.class);

    private final DispatcherParts parts;
    private final DeliveryChain chain;
    private final FailureLog failures;
    private final RunStart start;

    EventRun(DispatcherParts parts, DeliveryChain chain, FailureLog failures, TimeLimits timeLimits) {
        this.parts = parts;
        this.chain = chain;
        this.failures = failures;
        this.start = new RunStart(parts, failures, timeLimits);
    }

    @Override
    public void deliver(Worker worker, Delivery delivery) {
        try {
            deliverByKind(worker, delivery);
        } catch (RuntimeException | Error e) { // not expected: exceptions of user code are caught further inside
            LOG.log(
                    Level.ERROR,
                    "Cannot deliver event " + delivery.eventId() + "; it is released, no attempt is lost",
                    e);
            delivery.start(null);
            parts.endings.release(delivery);
            start.removeSkipped(delivery);
        }
    }

    private void deliverByKind(Worker worker, Delivery delivery) {
        AsyncEventListener waitedFor = parts.asyncRuns.takeGranted(delivery);
        if (waitedFor != null) {
            startAsync(worker, delivery, waitedFor);
            return;
        }
        if (!parts.admission.letsIn(delivery)) {
            start.removeSkipped(delivery);
            return;
        }
        Route route = parts.routeOf(delivery);
        EventListener listener = route.listener();
        if (listener instanceof AsyncEventListener async) {
            int bound = setting(worker, delivery, "maxInFlight", async::maxInFlight);
            if (bound > 0 && parts.asyncRuns.enter(async, bound, delivery)) {
                startAsync(worker, delivery, async);
            }
        } else if (listener instanceof BatchEventListener batch) {
            int limit = setting(worker, delivery, "maxBatchSize", batch::maxBatchSize);
            if (limit > 0) {
                deliverBatch(worker, delivery, batch, limit);
            }
        } else if (start.isOurs(worker, delivery) && start.enterListener(delivery)) {
            @Nullable Throwable failure;
            try {
                failure = chain.run(delivery, route);
                chain.after(delivery.envelope(), failure);
            } finally {
                delivery.leaveListener();
            }
            decide(delivery, failure);
        }
    }

    /**
     * Returns a setting of a listener. If the listener throws or returns less than 1, its attempt fails and the
     * result is 0.
     */
    private int setting(Worker worker, Delivery delivery, String name, IntSupplier question) {
        try {
            return ListenerSettings.atLeastOne(name, question.getAsInt());
        } catch (RuntimeException | Error e) {
            if (start.isOurs(worker, delivery)) {
                decide(delivery, e);
            }
            return 0;
        }
    }

    /** Decides how a delivery ends after its listener has returned or failed. */
    private void decide(Delivery delivery, @Nullable Throwable failure) {
        if (failure != null && delivery.isCutShort()) {
            parts.endings.release(delivery); // the event did not cause the failure, so it costs no attempt
        } else if (failure instanceof OutOfMemoryError && !delivery.isRunRecorded() && parts.store.knowsSuspects()) {
            LOG.log(
                    Level.WARNING,
                    "The listener of event " + delivery.eventId()
                            + " ran out of memory; another event may have used it up, so no attempt is lost, and the"
                            + " event runs again as a suspect",
                    failure);
            delivery.accuse();
            parts.endings.release(delivery);
        } else {
            Mark outcome = parts.policy.outcome(delivery, failure, parts.admission.leave(delivery, failure));
            if (failure != null) {
                failures.failed(delivery, failure, outcome);
            }
            parts.endings.mark(delivery, outcome);
        }
    }

    private void deliverBatch(Worker worker, Delivery first, BatchEventListener listener, int limit) {
        List<Delivery> batch = new ArrayList<>();
        int most = first.isSuspect() ? 1 : limit;
        for (Delivery next = first; next != null; next = batch.size() < most ? nextFor(listener) : null) {
            if (start.isOurs(worker, next)) {
                batch.add(next);
            }
        }
        // after all claims: an interrupt must not hit a database call
        batch.removeIf(delivery -> !start.enterListener(delivery));
        if (batch.isEmpty()) {
            return;
        }
        Map<String, Throwable> failed = Map.of();
        try {
            failed = chain.run(batch, listener);
            for (Delivery delivery : batch) {
                chain.after(delivery.envelope(), failed.get(delivery.eventId()));
            }
        } finally {
            batch.forEach(Delivery::leaveListener);
        }
        // interrupting one event hits the whole call
        boolean cutShort = batch.stream().anyMatch(Delivery::isCutShort);
        for (Delivery delivery : batch) {
            Throwable failure = failed.get(delivery.eventId());
            if (failure != null && cutShort) {
                parts.endings.release(delivery);
            } else {
                decide(delivery, failure);
            }
        }
    }

    /**
     * Returns the next delivery that may start, if it is for the same listener. A delivery for another listener goes
     * to the next worker.
     */
    private @Nullable Delivery nextFor(BatchEventListener listener) {
        DeliveryQueues queues = parts.queues;
        for (Delivery next = queues.takeNow(); next != null; next = queues.takeNow()) {
            if (parts.routeOf(next).listener() != listener) {
                queues.suspend(next);
                queues.resume(next);
                return null;
            }
            if (parts.admission.letsIn(next)) {
                return next;
            }
            start.removeSkipped(next);
        }
        return null;
    }

    /** Starts an asynchronous run that has a place. */
    private void startAsync(Worker worker, Delivery delivery, AsyncEventListener listener) {
        if (!start.isOurs(worker, delivery) || !start.enterListener(delivery)) {
            parts.asyncRuns.leave(listener);
            return;
        }
        AsyncRun run = new AsyncRun(parts, chain, delivery, listener, failure -> decide(delivery, failure));
        Throwable failure = chain.start(delivery, listener, run::started);
        if (failure != null) {
            delivery.leaveListener();
            run.end(failure);
        }
    }
}
