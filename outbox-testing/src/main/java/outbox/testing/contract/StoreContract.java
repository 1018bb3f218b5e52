package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;

/** The table and the store of a contract, with the capabilities of the table. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class StoreContract {

    static final Duration LEASE = Duration.ofMinutes(5);
    static final Claim OURS = new Claim("ours/1", Long.MAX_VALUE);
    static final Claim THEIRS = new Claim("theirs/1", Long.MAX_VALUE);

    StoreFixture db;
    LeasingEventStore store;

    /** Returns a new, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    /** Whether the table keeps payloads character by character. Return false for tables with a JSON column type. */
    protected boolean keepsTextVerbatim() {
        return true;
    }

    /** Whether the table has a column for the time when the event occurred. */
    protected boolean keepsOccurredAt() {
        return true;
    }

    /** Whether the table has a column for payloads that are not text. */
    protected boolean keepsBytes() {
        return true;
    }

    /** Returns a builder for an event that the table can store, with all values that the table requires. */
    protected EventEnvelope.Builder event(String type) {
        return EventEnvelope.builder(type);
    }

    /** Returns a valid event id that contains lower-case letters. */
    protected String idWithLetters() {
        return "abc";
    }

    /** Whether the table can store an arbitrary aggregate for each event. */
    protected boolean keepsAggregates() {
        return true;
    }

    /** Whether the table can store an arbitrary tenant for each event. */
    protected boolean keepsTenants() {
        return true;
    }

    /** Whether the table has a column for headers. */
    protected boolean keepsHeaders() {
        return true;
    }

    /** Whether the table has a column for the last error. */
    protected boolean keepsErrors() {
        return true;
    }

    /** Whether the table keeps the time when an event became dead. */
    protected boolean keepsTimeOfDeath() {
        return true;
    }

    /** Whether the insert statement of an event can also claim it. */
    protected boolean bearsLeased() {
        return true;
    }

    /**
     * Whether a transaction can keep a lock on a single row without blocking others. Return false for a store whose
     * transactions wait for each other.
     */
    protected boolean locksRows() {
        return true;
    }

    /** Returns the maximum size of a payload in bytes. */
    protected int largestPayload() {
        return EventEnvelope.MAX_PAYLOAD_BYTES;
    }

    /** Returns the attempts that the table reports for a dead event with this number of attempts. */
    protected int attemptsOfDead(int attempts) {
        return attempts;
    }

    /** Whether ids that differ only in case are different ids. */
    protected boolean comparesIdsByBytes() {
        return true;
    }

    @BeforeEach
    void createTable() throws SQLException {
        db = createFixture();
        store = db.store();
    }

    EventEnvelope json(String payload) {
        return event("T").payloadJson(payload).build();
    }

    /** Returns the expected row of an event that no claim holds, limited to the values that the table keeps. */
    StoreFixture.Row row(EventStatus status, int attempts, String error) {
        return new StoreFixture.Row(
                status,
                status == EventStatus.DEAD ? attemptsOfDead(attempts) : attempts,
                keepsErrors() ? error : null,
                null);
    }

    List<EventEnvelope> givenEvents(int count) {
        return IntStream.range(0, count).mapToObj(this::givenEvent).toList();
    }

    EventEnvelope givenEvent(int i) {
        EventEnvelope.Builder event = event("T").payloadJson("{\"n\":" + i + "}");
        return (keepsAggregates() ? event.aggregateId("a-" + i % 7) : event).build();
    }

    EventEnvelope givenClaimed(Claim claim) {
        EventEnvelope event = json("{}");
        db.insert(event);
        assertThat(claimOne(claim, event, null)).isPresent();
        return event;
    }

    List<ClaimedEvent> claimAll() {
        return claim(new Claim("all/" + System.nanoTime(), Long.MAX_VALUE), db.now(), 10_000);
    }

    List<ClaimedEvent> claim(Claim claim, Instant now, int limit) {
        return db.call(connection -> store.claim(connection, claim, ClaimRequest.of(now, now.minus(LEASE), limit)));
    }

    Optional<ClaimedEvent> claimOne(Claim claim, EventEnvelope event, @Nullable Claim held) {
        Instant now = db.now();
        return db.call(connection -> store.claimOne(connection, claim, event.eventId(), now, now.minus(LEASE), held));
    }

    Set<String> mark(Mark mark) {
        Instant now = db.now();
        return new HashSet<>(db.call(connection -> store.mark(connection, List.of(mark), now)));
    }

    /** The work of one of several threads. The barrier lets all threads start at the same time. */
    interface Task<T> {
        T run(CyclicBarrier barrier) throws Exception;
    }

    static <T> List<T> inParallel(int threads, Task<T> task) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            CyclicBarrier barrier = new CyclicBarrier(threads);
            List<Callable<T>> calls = Collections.nCopies(threads, () -> task.run(barrier));
            List<T> results = new ArrayList<>();
            for (Future<T> result : pool.invokeAll(calls, 60, TimeUnit.SECONDS)) {
                results.add(result.get());
            }
            return results;
        } finally {
            pool.shutdownNow();
        }
    }

    static void await(CyclicBarrier barrier) {
        try {
            barrier.await(30, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException("The other threads did not come", e);
        }
    }
}
