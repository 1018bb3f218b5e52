package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.DeliveryOutcome;
import outbox.EventListener;
import outbox.internal.Expiry;
import outbox.internal.ListenerSettings;
import outbox.spi.Mark;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntSupplier;

/** Runs events on a worker thread: claims them if needed, runs their listener, decides the outcome and hands it to the marker. One way for each kind of listener. */
final class EventRun implements Worker.Deliverer {

    private static final Logger LOG = SafeLogger.of(EventRun.class);

    private final ClaimedStore store;
    private final DeliveryChain chain;
    private final OutcomePolicy policy;
    private final FailureLog failures;
    private final HeldEvents held;
    private final Marker marker;
    private final DeliveryQueues queues;
    private final AsyncRuns asyncRuns;
    private final Admission admission;
    private final Term term;
    private final TimeLimits timeLimits;
    private final Executor threads; // for the end of asynchronous runs that are cancelled

    EventRun(
            ClaimedStore store,
            DeliveryChain chain,
            OutcomePolicy policy,
            FailureLog failures,
            HeldEvents held,
            Marker marker,
            DeliveryQueues queues,
            AsyncRuns asyncRuns,
            Admission admission,
            Term term,
            TimeLimits timeLimits,
            Executor threads) {
        this.store = store;
        this.chain = chain;
        this.policy = policy;
        this.failures = failures;
        this.held = held;
        this.marker = marker;
        this.queues = queues;
        this.asyncRuns = asyncRuns;
        this.admission = admission;
        this.term = term;
        this.timeLimits = timeLimits;
        this.threads = threads;
    }

    @Override
    public void deliver(Worker worker, Delivery delivery) {
        try {
            deliverByKind(worker, delivery);
        } catch (RuntimeException | Error e) { // none is known: user code is contained further in
            LOG.log(
                    Level.ERROR,
                    "Cannot deliver event " + delivery.eventId() + "; it is given back, no attempt is lost",
                    e);
            delivery.start(null);
            giveBack(delivery);
            drop(delivery);
        }
    }

    /** One that was given up while it waited is gone, but a worker has taken it since. */
    private void drop(Delivery delivery) {
        if (delivery.state() == Delivery.State.GIVEN_UP) {
            queues.gone(delivery);
        }
    }

    private void deliverByKind(Worker worker, Delivery delivery) {
        AsyncEventListener waitedFor = asyncRuns.takeGranted(delivery);
        if (waitedFor != null) {
            startAsync(worker, delivery, waitedFor);
            return;
        }
        if (!admission.letsIn(delivery)) {
            drop(delivery);
            return;
        }
        EventListener listener = chain.listenerOf(delivery.envelope());
        if (listener instanceof AsyncEventListener async) {
            int bound = setting(worker, delivery, "maxInFlight", async::maxInFlight);
            if (bound > 0 && asyncRuns.enter(async, bound, delivery)) {
                startAsync(worker, delivery, async);
            }
        } else if (listener instanceof BatchEventListener batch) {
            int limit = setting(worker, delivery, "maxBatchSize", batch::maxBatchSize);
            if (limit > 0) {
                deliverBatch(worker, delivery, batch, limit);
            }
        } else if (isOurs(worker, delivery) && enterListener(delivery)) {
            @Nullable Throwable failure;
            try {
                failure = chain.run(delivery);
                chain.after(delivery.envelope(), failure);
            } finally {
                delivery.leaveListener();
            }
            settle(delivery, failure);
        }
    }

    /** What a listener says about itself. One that throws instead, or says less than 1, has failed, like one that throws when it is called: the attempt counts, and the answer is 0. */
    private int setting(Worker worker, Delivery delivery, String name, IntSupplier question) {
        try {
            return ListenerSettings.atLeastOne(name, question.getAsInt());
        } catch (RuntimeException | Error e) {
            if (isOurs(worker, delivery)) {
                settle(delivery, e);
            }
            return 0;
        }
    }

    /** Whether the delivery may run now: started by nobody else, claimed, and recorded if it is under suspicion. */
    private boolean isOurs(Worker worker, Delivery delivery) {
        boolean ours = isStarted(worker, delivery);
        if (!ours) {
            admission.abandon(delivery);
            if (delivery.awaitsTurn()) {
                awaitTurn(delivery);
            } else {
                drop(delivery);
            }
        }
        return ours;
    }

    private boolean isStarted(Worker worker, Delivery delivery) {
        try {
            return delivery.start(worker)
                    && isCovered(delivery)
                    && held.enterFlight(delivery) // else another run of this event is in progress
                    && isClaimed(delivery);
        } catch (RuntimeException | Error e) { // of the tracker or the store: other user code is contained by the chain
            LOG.log(
                    Level.ERROR,
                    "Cannot start event " + delivery.eventId() + "; it is given back, no attempt is lost",
                    e);
            giveBack(delivery);
            return false;
        }
    }

    /** An event that this node may not deliver is given back; it costs no attempt. */
    private boolean isCovered(Delivery delivery) {
        boolean covered = term.covers(delivery);
        if (!covered) {
            giveBack(delivery);
        }
        return covered;
    }

    private boolean isClaimed(Delivery delivery) {
        String token = delivery.token();
        if (!store.ensureClaim(delivery)) {
            held.lost(delivery, token, "it is finished, held by another node, or has no row");
            return false;
        }
        if (store.isExpired(delivery)) {
            settleDead(delivery, Mark.dead(delivery.eventId(), delivery.token(), false, Expiry.REASON));
            return false;
        }
        if (delivery.isSuspect()) {
            if (!queues.hasTurn(delivery)) {
                delivery.setAwaitsTurn(true);
                return false;
            }
            if (policy.isExhausted(delivery)) {
                settleDead(delivery, policy.exhausted(delivery));
                return false;
            }
            String claimed = delivery.token();
            if (!store.recordRun(delivery)) {
                held.lost(delivery, claimed, "its lease ran out");
                return false;
            }
        }
        return true;
    }

    /**
     * The claim has shown that the event is a suspect: it waits for its turn. From then on another worker may have
     * it.
     */
    private void awaitTurn(Delivery delivery) {
        delivery.setAwaitsTurn(false);
        delivery.setRunsAlone(policy.mustRunAlone(delivery));
        held.leaveFlight(delivery);
        if (delivery.requeue()) {
            queues.setAside(delivery);
            queues.resume(delivery);
        }
    }

    private boolean enterListener(Delivery delivery) {
        delivery.setTimeLimit(timeLimits.of(delivery.envelope()));
        boolean entered = term.covers(delivery) && delivery.enterListener(); // as late as can be
        if (!entered) {
            giveBack(delivery);
        }
        return entered;
    }

    private void settle(Delivery delivery, @Nullable Throwable failure) {
        if (failure != null && delivery.isCutShort()) {
            giveBack(delivery); // not by a fault of its own, so it costs no attempt
        } else if (failure instanceof OutOfMemoryError && !delivery.isRunRecorded() && store.knowsSuspects()) {
            LOG.log(
                    Level.WARNING,
                    "The listener of event " + delivery.eventId()
                            + " ran out of memory; another event may have used it up, so no attempt is lost, and the"
                            + " event runs again as a suspect",
                    failure);
            delivery.accuse();
            giveBack(delivery);
        } else {
            Mark outcome = policy.outcome(delivery, failure, admission.leave(delivery, failure));
            if (failure != null) {
                failures.failed(delivery, failure, outcome);
            }
            marker.settle(delivery, outcome);
        }
    }

    /** Without an attempt. */
    private void settleDead(Delivery delivery, Mark outcome) {
        failures.dead(delivery, outcome);
        marker.settle(delivery, outcome);
    }

    private void giveBack(Delivery delivery) {
        admission.abandon(delivery);
        if (delivery.settle()) {
            held.release(delivery);
        }
    }

    /** The stage may go on whatever it is told, so nobody may take or cancel the event before its lease has ended. */
    private void leaveToItsLease(Delivery delivery) {
        admission.abandon(delivery);
        if (delivery.settle()) {
            LOG.log(
                    Level.INFO,
                    "The asynchronous listener of event " + delivery.eventId()
                            + " was cut short; the event will be delivered again after its lease");
            held.letGo(delivery, delivery.token());
        }
    }

    private void deliverBatch(Worker worker, Delivery first, BatchEventListener listener, int limit) {
        List<Delivery> batch = new ArrayList<>();
        int most = first.isSuspect() ? 1 : limit;
        for (Delivery next = first; next != null; next = batch.size() < most ? nextFor(listener) : null) {
            if (isOurs(worker, next)) {
                batch.add(next);
            }
        }
        batch.removeIf(delivery -> !enterListener(delivery)); // not before: an interrupt must not hit a claim
        if (batch.isEmpty()) {
            return;
        }
        Map<String, Throwable> failures = Map.of();
        try {
            failures = chain.run(batch, listener);
            for (Delivery delivery : batch) {
                chain.after(delivery.envelope(), failures.get(delivery.eventId()));
            }
        } finally {
            batch.forEach(Delivery::leaveListener);
        }
        boolean cutShort = batch.stream().anyMatch(Delivery::isCutShort); // the interrupt of one hits the whole call
        for (Delivery delivery : batch) {
            Throwable failure = failures.get(delivery.eventId());
            if (failure != null && cutShort) {
                giveBack(delivery);
            } else {
                settle(delivery, failure);
            }
        }
    }

    /** The next delivery that may start, if it is for the same listener; one that is not goes to the next worker. */
    private @Nullable Delivery nextFor(BatchEventListener listener) {
        for (Delivery next = queues.takeNow(); next != null; next = queues.takeNow()) {
            if (chain.listenerOf(next.envelope()) != listener) {
                queues.setAside(next);
                queues.resume(next);
                return null;
            }
            if (admission.letsIn(next)) {
                return next;
            }
            drop(next);
        }
        return null;
    }

    /** Starts an asynchronous run that has its place. */
    private void startAsync(Worker worker, Delivery delivery, AsyncEventListener listener) {
        AsyncRun run = new AsyncRun(delivery, listener);
        if (!isOurs(worker, delivery) || !enterListener(delivery)) {
            asyncRuns.leave(listener);
            return;
        }
        Throwable failure = chain.start(delivery, listener, run::started);
        if (failure != null) {
            delivery.leaveListener();
            run.end(failure);
        }
    }

    /** An event in the hands of an asynchronous listener. Ended once: by its stage, or by whoever cancels it. */
    private final class AsyncRun {

        private final Delivery delivery;
        private final AsyncEventListener listener;
        private final AtomicBoolean ended = new AtomicBoolean();

        AsyncRun(Delivery delivery, AsyncEventListener listener) {
            this.delivery = delivery;
            this.listener = listener;
        }

        void started(CompletionStage<?> stage) {
            delivery.leaveThread(() -> threads.execute(() -> cancel(stage)));
            stage.whenComplete((result, failure) -> end(failure == null ? saidBy(result) : unwrapped(failure)));
        }

        /** The end comes first: what the stage makes of its cancellation says nothing about the event. */
        private void cancel(CompletionStage<?> stage) {
            if (delivery.isCutShort()) {
                Exception why = new CancellationException("The dispatcher closes, or the lease was lost");
                boolean withdrawn = isWithdrawn();
                end(why, () -> {
                    if (withdrawn) {
                        giveBack(delivery);
                    } else {
                        leaveToItsLease(delivery);
                    }
                });
            } else {
                end(new TimeoutException("The asynchronous listener did not complete within its time limit"));
            }
            try {
                stage.toCompletableFuture().cancel(true);
            } catch (RuntimeException | Error e) { // a stage need not be a future
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

        private static @Nullable Throwable saidBy(@Nullable Object result) {
            return result instanceof DeliveryOutcome outcome ? outcome.failure() : null;
        }

        private static @Nullable Throwable unwrapped(@Nullable Throwable failure) {
            return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        }

        void end(@Nullable Throwable failure) {
            end(failure, () -> settle(delivery, failure));
        }

        private void end(@Nullable Throwable failure, Runnable settle) {
            if (!ended.compareAndSet(false, true)) {
                return;
            }
            try {
                chain.after(delivery.envelope(), failure);
            } finally {
                delivery.endAsync();
                settle.run();
                asyncRuns.leave(listener);
            }
        }
    }
}
