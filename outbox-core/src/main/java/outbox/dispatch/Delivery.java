package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One event in the hands of this dispatcher, from the moment it is accepted until its outcome is in the database.
 *
 * <p>Its state moves QUEUED → RUNNING → SETTLED, or QUEUED → GIVEN_UP when it is dropped or given back before it started. One that turns out to be a suspect goes back from RUNNING to QUEUED. Moves, and the thread that may be interrupted, are
 * guarded by this object's lock, under which no other code runs. An interrupt reaches a run only while its listener has the thread: never the next event on the same thread, and
 * never a database call of ours.
 */
final class Delivery {

    enum State {
        QUEUED,
        RUNNING,
        SETTLED,
        GIVEN_UP
    }

    /** How the queues count its payload. */
    enum Bytes {
        NOT_COUNTED,
        COUNTED,
        OF_SUSPECT
    }

    /** Why a run is ended from outside. */
    enum Cancel {
        /** It took too long: its attempt counts. */
        TIME_LIMIT,
        /** The event may be another node's by now. */
        LEASE_LOST,
        /** The dispatcher closes. */
        CLOSE
    }

    private final QueuedEvent queued;
    private final AtomicReference<@Nullable Claim>
            claim; // null until one is known; poller, keeper and worker replace it
    private volatile boolean suspect; // the worker may learn it when it claims
    private volatile int attempts; // attempts before this run; the worker raises it before the run starts
    private volatile boolean runRecorded; // worker writes before the run, marker reads
    private volatile boolean inFlight; // worker writes: the tracker knows this delivery
    private boolean accused; // worker writes before it hands the delivery to the marker
    private boolean awaitsTurn; // the worker that has it writes and reads
    private boolean alone; // written before it is added to the queues
    private Bytes bytes = Bytes.NOT_COUNTED; // guarded by the lock of the queues, as the next two
    private boolean atWork;
    private long arrival;
    private volatile @Nullable Pass pass; // written under the lock of the admission, as the next
    private volatile List<Gate> ahead = List.of();
    private volatile boolean withheld; // given back because it may not be delivered now; whoever gives it back writes
    private volatile long number; // its place in the order of its aggregate, once the order gate knows it
    private long term; // written before it is queued
    private volatile Duration timeLimit = Duration.ZERO; // worker writes before its listener is entered, keeper reads
    private State state = State.QUEUED; // guarded by this, as everything below
    private @Nullable Worker worker; // runs it, while it needs a thread
    private @Nullable Thread listenerThread; // set while the listener has the thread
    private boolean inListener; // with or without a thread
    private long listenerStartNanos;
    private long listenerEndNanos;
    private boolean ran; // whether the listener was entered at all
    private @Nullable Runnable asyncCancel; // ends a run that needs no thread
    private @Nullable Cancel cancelled;
    private long cancelNanos; // set with cancelled

    Delivery(QueuedEvent queued, @Nullable Claim claim, boolean suspect) {
        this.queued = queued;
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

    /** The token to name in every write; empty without a claim, that is for a store that knows none. */
    String token() {
        Claim current = claim.get();
        return current == null ? "" : current.token();
    }

    /** Goes on under a claim that our own poller got for this event after its lease had run out. */
    void adopt(Claim newer) {
        claim.set(newer);
    }

    /** A delivery of the same event under the same claim that no worker has seen. */
    Delivery unstarted() {
        return new Delivery(queued, claim.get(), suspect);
    }

    /** The keeper renewed the lease; no effect if the claim was replaced meanwhile. */
    void renewed(Claim before, Claim after) {
        claim.compareAndSet(before, after);
    }

    /** The worker claimed the event itself. */
    void claimed(ClaimedEvent event) {
        claim.set(event.claim());
        suspect |= event.suspect();
        attempts = Math.max(attempts, event.event().attempts());
    }

    boolean isSuspect() {
        return suspect;
    }

    /** Whether it is to be released as a suspect: only a run that ended here shows that it harms no process. */
    boolean staysSuspect() {
        return accused || suspect && run() == null;
    }

    /** Its run ended in a way that may be the fault of another event: it is to be released as a suspect. */
    void accuse() {
        accused = true;
    }

    /** Its claim has shown that it is a suspect, and it does not have its turn. */
    boolean awaitsTurn() {
        return awaitsTurn;
    }

    void setAwaitsTurn(boolean awaits) {
        awaitsTurn = awaits;
    }

    void setRunsAlone(boolean alone) {
        this.alone = alone;
    }

    /** Of a suspect: whether no other event may run at the same time. */
    boolean runsAlone() {
        return alone;
    }

    /** Attempts that were made before this run, or up to it once it is recorded. */
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

    /** Under the lock of the queues: notes how they count its bytes, and returns how they did before. */
    Bytes countBytes(Bytes now) {
        Bytes before = bytes;
        bytes = now;
        return before;
    }

    /** Under the lock of the queues: notes whether a worker has it, and returns whether one had it before. */
    boolean setAtWork(boolean now) {
        boolean before = atWork;
        atWork = now;
        return before;
    }

    /** Under the lock of the queues: its place among those that are ready. */
    void arrived(long place) {
        arrival = place;
    }

    long arrival() {
        return arrival;
    }

    /** What it took to be let in; null if nothing was needed, or not yet. */
    @Nullable
    Pass pass() {
        return pass;
    }

    void setPass(@Nullable Pass pass) {
        this.pass = pass;
    }

    /** The gates that expect it. */
    List<Gate> ahead() {
        return ahead;
    }

    void setAhead(List<Gate> gates) {
        ahead = gates;
    }

    void setWithheld() {
        withheld = true;
    }

    /** Whether it was given back because it may not be delivered now, so that nobody need look for it. */
    boolean isWithheld() {
        return withheld;
    }

    synchronized State state() {
        return state;
    }

    void setNumber(long number) {
        this.number = number;
    }

    /** The leadership that it was accepted under. */
    void setTerm(long term) {
        this.term = term;
    }

    long term() {
        return term;
    }

    void setTimeLimit(Duration timeLimit) {
        this.timeLimit = timeLimit;
    }

    /** How long its listener may run; zero until it starts. */
    Duration timeLimit() {
        return timeLimit;
    }

    /** Its place in the order of its aggregate; zero or negative if it has none. */
    long number() {
        return number;
    }

    synchronized boolean start(@Nullable Worker runner) {
        worker = runner;
        return move(State.QUEUED, State.RUNNING);
    }

    /** It turned out to be a suspect, and waits for its turn; false if its outcome was decided meanwhile. */
    synchronized boolean requeue() {
        worker = null;
        return move(State.RUNNING, State.QUEUED);
    }

    /** The worker that runs it, if it holds one. */
    synchronized @Nullable Worker worker() {
        return worker;
    }

    synchronized boolean giveUp() {
        return move(State.QUEUED, State.GIVEN_UP);
    }

    /** The first to settle decides the outcome: the worker when the run ends, or the keeper when it never does. */
    synchronized boolean settle() {
        return move(State.RUNNING, State.SETTLED);
    }

    private boolean move(State from, State to) {
        if (state != from) {
            return false;
        }
        state = to;
        return true;
    }

    /** Gives the current thread to the listener; false if the run was cancelled before. */
    synchronized boolean enterListener() {
        if (cancelled != null) {
            return false;
        }
        listenerThread = Thread.currentThread();
        listenerStartNanos = System.nanoTime();
        inListener = true;
        ran = true;
        return true;
    }

    /** Takes the thread back from a listener that goes on without it; the way to end it replaces the interrupt. */
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

    /** Takes the thread back, with a clean interrupt flag: neither our interrupt nor one the listener left may reach what follows. */
    synchronized void leaveListener() {
        listenerThread = null;
        endRun();
        Thread.interrupted();
    }

    /** A listener that went on without a thread has ended. */
    synchronized void endAsync() {
        endRun();
    }

    /** Under the lock. */
    private void endRun() {
        if (inListener) {
            inListener = false;
            listenerEndNanos = System.nanoTime();
        }
    }

    /** When the listener started, by {@link System#nanoTime}, and how long it ran. */
    record Run(long startNanos, Duration took) {}

    /** The run of the listener, up to now if it goes on; null if it never started. */
    synchronized @Nullable Run run() {
        if (!ran) {
            return null;
        }
        long end = inListener ? System.nanoTime() : listenerEndNanos;
        return new Run(listenerStartNanos, Duration.ofNanos(end - listenerStartNanos));
    }

    /** Interrupts the listener, or keeps it from starting; false if that was done before, and then the first reason stays. */
    boolean cancel(Cancel why) {
        Runnable end;
        synchronized (this) {
            if (cancelled != null) {
                return false;
            }
            cancelled = why;
            cancelNanos = System.nanoTime();
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

    /** Whether the run was ended for a reason that is not the event's: its failure then says nothing about the event. */
    synchronized boolean isCutShort() {
        return cancelled == Cancel.LEASE_LOST || cancelled == Cancel.CLOSE;
    }

    /** How long ago the run was cancelled; zero if it was not. */
    synchronized Duration cancelledFor() {
        return cancelled == null ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - cancelNanos);
    }

    /** How long the listener has been at work; zero if it is not. */
    synchronized Duration listenerTime() {
        return inListener ? Duration.ofNanos(System.nanoTime() - listenerStartNanos) : Duration.ZERO;
    }
}
