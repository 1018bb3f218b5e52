package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.Scheduler;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One event that this dispatcher holds, from its acceptance until its outcome is in the database.
 *
 * <p>The state changes QUEUED → RUNNING → ENDED, or QUEUED → SKIPPED if the delivery ends before it starts.
 * {@link Endings} lists the ways to end. A delivery that turns out to be a suspect goes back from RUNNING to QUEUED.
 * The lock of this object guards the state and the thread that may be interrupted. No other code runs under that
 * lock. An interrupt reaches a run only while its listener has the thread: never the next event on the same thread,
 * and never a database call of the dispatcher.
 */
final class Delivery {

    enum State {
        QUEUED,
        RUNNING,
        ENDED,
        SKIPPED
    }

    /** How the queues count the payload. */
    enum Bytes {
        NOT_COUNTED,
        COUNTED,
        OF_SUSPECT
    }

    /** Why a run is cancelled. */
    enum Cancel {
        /** The listener took too long: the attempt counts. */
        TIME_LIMIT,
        /** Another node may have claimed the event. */
        LEASE_LOST,
        /** The dispatcher closes. */
        CLOSE
    }

    private final QueuedEvent queued;
    private final Scheduler scheduler;
    // null until a claim is known; the poller, the keeper and the worker replace it
    private final AtomicReference<@Nullable Claim> claim;
    private volatile boolean suspect; // the worker may set it when it claims
    private volatile int attempts; // attempts before this run; the worker increments it before the run starts
    private volatile boolean runRecorded; // the worker writes it before the run, the marker thread reads it
    private volatile boolean inFlight; // whether the tracker knows this delivery; the worker writes it
    private boolean accused; // the worker writes it before it passes the delivery to the marker thread
    private boolean awaitsTurn; // written and read by the worker that holds the delivery
    private boolean alone; // written before the delivery is added to the queues
    private Bytes bytes = Bytes.NOT_COUNTED; // guarded by the lock of the queues
    private boolean atWork; // guarded by the lock of the queues
    private long arrival; // guarded by the lock of the queues
    private volatile @Nullable Permit permit; // written under the lock of the admission
    private volatile List<Gate> ahead = List.of(); // written under the lock of the admission
    // released because it may not be delivered now; written by the releasing thread
    private volatile boolean withheld;
    private volatile @Nullable Route route; // set by the first thread that needs it
    private volatile long number; // position in the order of its aggregate; 0 until the order gate has read it
    private long term; // written before the delivery is queued
    // the worker writes it before the listener is entered, the keeper reads it
    private volatile Duration timeLimit = Duration.ZERO;
    private State state = State.QUEUED; // guarded by this
    private @Nullable Worker worker; // the worker that runs it, while it needs a thread; guarded by this
    private @Nullable Thread listenerThread; // set while the listener has the thread; guarded by this
    private boolean inListener; // whether the listener runs, with or without a thread; guarded by this
    private long listenerStartNanos; // guarded by this
    private long listenerEndNanos; // guarded by this
    private boolean ran; // whether the listener was entered at all; guarded by this
    private @Nullable Runnable asyncCancel; // cancels a run that needs no thread; guarded by this
    private @Nullable Cancel cancelled; // guarded by this
    private long cancelNanos; // set together with cancelled; guarded by this

    Delivery(QueuedEvent queued, @Nullable Claim claim, boolean suspect, Scheduler scheduler) {
        this.queued = queued;
        this.scheduler = scheduler;
        this.claim = new AtomicReference<>(claim);
        this.suspect = suspect;
        this.attempts = queued.attempts();
    }

    EventEnvelope envelope() {
        return queued.envelope();
    }

    String eventId() {
        return queued.envelope().eventId();
    }

    QueuedEvent.Source source() {
        return queued.source();
    }

    @Nullable
    Claim claim() {
        return claim.get();
    }

    /** Returns the token that every write must name. Empty if the store does not support claims. */
    String token() {
        Claim current = claim.get();
        return current == null ? "" : current.token();
    }

    /** Continues under a newer claim that the poller of this dispatcher got after the lease had expired. */
    void adopt(Claim newer) {
        claim.set(newer);
    }

    /** Returns a new delivery of the same event under the same claim, which no worker has started. */
    Delivery unstarted() {
        return new Delivery(queued, claim.get(), suspect, scheduler);
    }

    /** Called when the keeper has renewed the lease. No effect if the claim was replaced in the meantime. */
    void renewed(Claim before, Claim after) {
        claim.compareAndSet(before, after);
    }

    /** Called when the worker has claimed the event itself. */
    void claimed(ClaimedEvent event) {
        claim.set(event.claim());
        suspect |= event.suspect();
        attempts = Math.max(attempts, event.event().attempts());
    }

    boolean isSuspect() {
        return suspect;
    }

    /**
     * Whether the event must be released as a suspect. Only a run that ended here proves that the event does not
     * crash the process.
     */
    boolean staysSuspect() {
        return accused || suspect && run() == null;
    }

    /** Marks the event for release as a suspect. The way its run ended may have been caused by another event. */
    void accuse() {
        accused = true;
    }

    /** Whether the claim has shown that the event is a suspect, and it does not have its turn. */
    boolean awaitsTurn() {
        return awaitsTurn;
    }

    void setAwaitsTurn(boolean awaits) {
        awaitsTurn = awaits;
    }

    void setRunsAlone(boolean alone) {
        this.alone = alone;
    }

    /** For a suspect: whether no other event may run at the same time. */
    boolean runsAlone() {
        return alone;
    }

    /** Returns the attempts before this run. Includes this run once it is recorded. */
    int attempts() {
        return attempts;
    }

    void runRecorded() {
        int before = attempts; // the worker is the only writer
        attempts = before + 1;
        runRecorded = true;
    }

    boolean isRunRecorded() {
        return runRecorded;
    }

    /** The number of this run, counted from 1. */
    int attempt() {
        return runRecorded ? attempts : attempts + 1;
    }

    void setInFlight(boolean inFlight) {
        this.inFlight = inFlight;
    }

    boolean isInFlight() {
        return inFlight;
    }

    /** Sets how the queues count the bytes and returns the previous value. Called under the lock of the queues. */
    Bytes countBytes(Bytes now) {
        Bytes before = bytes;
        bytes = now;
        return before;
    }

    /**
     * Sets whether a worker has the delivery and returns the previous value. Called under the lock of the queues.
     */
    boolean setAtWork(boolean now) {
        boolean before = atWork;
        atWork = now;
        return before;
    }

    /** Sets the position among the ready deliveries. Called under the lock of the queues. */
    void arrived(long place) {
        arrival = place;
    }

    long arrival() {
        return arrival;
    }

    /** Returns the places and tickets that the delivery took, or null if it has none. */
    @Nullable
    Permit permit() {
        return permit;
    }

    void setPermit(@Nullable Permit permit) {
        this.permit = permit;
    }

    /** Returns the gates that count this delivery as coming. */
    List<Gate> ahead() {
        return ahead;
    }

    void setAhead(List<Gate> gates) {
        ahead = gates;
    }

    /** Returns the route, or null until it is looked up, see {@link Route#of}. */
    @Nullable
    Route route() {
        return route;
    }

    void setRoute(Route route) {
        this.route = route;
    }

    void setWithheld() {
        withheld = true;
    }

    /**
     * Whether the event is released because it may not be delivered now. Then no poller needs to be woken for it.
     */
    boolean isWithheld() {
        return withheld;
    }

    synchronized State state() {
        return state;
    }

    void setNumber(long number) {
        this.number = number;
    }

    /** Sets the number of the leadership under which the event was accepted. */
    void setTerm(long term) {
        this.term = term;
    }

    long term() {
        return term;
    }

    void setTimeLimit(Duration timeLimit) {
        this.timeLimit = timeLimit;
    }

    /** Returns how long the listener may run; zero until it starts. */
    Duration timeLimit() {
        return timeLimit;
    }

    /** Returns the position in the order of its aggregate; zero or negative if it has none. */
    long number() {
        return number;
    }

    synchronized boolean start(@Nullable Worker runner) {
        worker = runner;
        return move(State.QUEUED, State.RUNNING);
    }

    /**
     * Puts a suspect back into the queue, where it waits for its turn. Returns false if its outcome was decided
     * in the meantime.
     */
    synchronized boolean requeue() {
        worker = null;
        return move(State.RUNNING, State.QUEUED);
    }

    /** Returns the worker that runs the delivery, or null if it needs none. */
    synchronized @Nullable Worker worker() {
        return worker;
    }

    /** Ends the delivery before it starts. Returns false if it has already started or ended. */
    synchronized boolean skip() {
        return move(State.QUEUED, State.SKIPPED);
    }

    /**
     * Ends the run. The first caller decides how: the worker when the run ends, or the keeper when the
     * listener is stuck.
     */
    synchronized boolean end() {
        return move(State.RUNNING, State.ENDED);
    }

    private boolean move(State from, State to) {
        if (state != from) {
            return false;
        }
        state = to;
        return true;
    }

    /** Gives the current thread to the listener. Returns false if the run was cancelled before. */
    synchronized boolean enterListener() {
        if (cancelled != null) {
            return false;
        }
        listenerThread = Thread.currentThread();
        listenerStartNanos = scheduler.nanoTime();
        inListener = true;
        ran = true;
        return true;
    }

    /**
     * Takes the thread back from a listener that continues without it. From now on, cancelling the run calls the
     * given callback instead of interrupting the thread.
     */
    void leaveThread(Runnable cancel) {
        boolean now;
        synchronized (this) {
            listenerThread = null;
            worker = null;
            asyncCancel = cancel;
            Thread.interrupted();
            now = cancelled != null;
        }
        if (now) {
            cancel.run();
        }
    }

    /**
     * Takes the thread back and clears its interrupt flag: neither our interrupt nor one that the listener set may
     * reach the code that follows.
     */
    synchronized void leaveListener() {
        listenerThread = null;
        endRun();
        Thread.interrupted();
    }

    /** Ends the run of a listener that continued without a thread. */
    synchronized void endAsync() {
        endRun();
    }

    /** Called under the lock. */
    private void endRun() {
        if (inListener) {
            inListener = false;
            listenerEndNanos = scheduler.nanoTime();
        }
    }

    /** When the listener started, by the monotonic clock, and how long it ran. */
    record Run(long startNanos, Duration took) {}

    /** Returns the run of the listener, up to now if it still runs, or null if it never started. */
    synchronized @Nullable Run run() {
        if (!ran) {
            return null;
        }
        long end = inListener ? scheduler.nanoTime() : listenerEndNanos;
        return new Run(listenerStartNanos, Duration.ofNanos(end - listenerStartNanos));
    }

    /**
     * Interrupts the listener, or prevents its start. Returns false if the run was already cancelled; the
     * first reason stays.
     */
    boolean cancel(Cancel why) {
        Runnable end;
        synchronized (this) {
            if (cancelled != null) {
                return false;
            }
            cancelled = why;
            cancelNanos = scheduler.nanoTime();
            if (listenerThread != null) {
                listenerThread.interrupt();
            }
            end = inListener ? asyncCancel : null;
        }
        if (end != null) {
            end.run();
        }
        return true;
    }

    /**
     * Whether the run was cancelled for a reason that the event did not cause. Its failure then says nothing
     * about the event.
     */
    synchronized boolean isCutShort() {
        return cancelled == Cancel.LEASE_LOST || cancelled == Cancel.CLOSE;
    }

    /** Returns how long ago the run was cancelled; zero if it was not. */
    synchronized Duration cancelledFor() {
        return cancelled == null ? Duration.ZERO : Duration.ofNanos(scheduler.nanoTime() - cancelNanos);
    }

    /** Returns how long the listener has been running; zero if it does not run. */
    synchronized Duration listenerTime() {
        return inListener ? Duration.ofNanos(scheduler.nanoTime() - listenerStartNanos) : Duration.ZERO;
    }
}
