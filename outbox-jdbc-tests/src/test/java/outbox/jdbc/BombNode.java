package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.spi.LeasingEventStore;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The main program of a node with four workers and slow events, some of which end the process. The event type
 * selects the behaviour: {@link #SLOW} takes {@link #RUN}, {@link #HALT} ends the process after half of that time,
 * and {@link #OUT_OF_MEMORY} fills the heap. The node prints the start and the end of each run. Arguments: JDBC URL,
 * name of the database, kind of the listener.
 */
final class BombNode {

    /** The kind of the listener. */
    enum Kind {
        PLAIN,
        BATCH,
        ASYNC
    }

    static final String SLOW = "slow";
    static final String HALT = "halt";
    static final String OUT_OF_MEMORY = "out-of-memory";
    static final Duration LEASE = Duration.ofSeconds(1);
    static final Duration RUN = Duration.ofMillis(200);
    static final int MAX_ATTEMPTS = 3;
    static final int WORKERS = 4;

    private static final ScheduledExecutorService TIMER = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "stages");
        thread.setDaemon(true);
        return thread;
    });

    private BombNode() {}

    public static void main(String[] args) throws Exception {
        Databases database = Databases.valueOf(args[1]);
        start(args[0], database.store(), listener(Kind.valueOf(args[2])));
        new CountDownLatch(1).await(); // the test ends this process unless an event does
    }

    private static void start(String url, LeasingEventStore store, EventListener listener) {
        HikariDataSource pool = Databases.newPool(url, 5, true);
        OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(store)
                .listenerRegistry((aggregateType, eventType) -> listener)
                .workerCount(WORKERS)
                .maxAttempts(MAX_ATTEMPTS)
                .retryPolicy(attempts -> 0)
                .leaseDuration(LEASE)
                .build();
        OutboxPoller.builder()
                .connectionProvider(pool::getConnection)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .intervalMs(50)
                .lockTimeout(LEASE)
                .build()
                .start();
    }

    private static EventListener listener(Kind kind) {
        return switch (kind) {
            case PLAIN ->
                event -> {
                    begin(event);
                    spend(timeOf(event));
                    end(event);
                };
            case BATCH -> (BatchEventListener) BombNode::runAll;
            case ASYNC ->
                (AsyncEventListener) event -> {
                    begin(event);
                    CompletableFuture<Void> stage = new CompletableFuture<>();
                    TIMER.schedule(
                            () -> {
                                end(event);
                                stage.complete(null);
                            },
                            timeOf(event).toMillis(),
                            TimeUnit.MILLISECONDS);
                    return stage;
                };
        };
    }

    private static BatchEventListener.Outcome runAll(List<EventEnvelope> events) {
        events.forEach(BombNode::begin);
        spend(events.stream().map(BombNode::timeOf).max(Duration::compareTo).orElse(RUN));
        events.forEach(BombNode::end);
        return BatchEventListener.Outcome.allDelivered();
    }

    /** Returns the duration of a run. A bomb never ends before its process, however slow the machine is. */
    private static Duration timeOf(EventEnvelope event) {
        return event.eventType().equals(SLOW) ? RUN : Duration.ofHours(1);
    }

    private static void begin(EventEnvelope event) {
        System.out.println("START " + event.eventId());
        switch (event.eventType()) {
            case HALT ->
                TIMER.schedule(() -> Runtime.getRuntime().halt(137), RUN.toMillis() / 2, TimeUnit.MILLISECONDS);
            case OUT_OF_MEMORY -> TIMER.schedule(BombNode::fillHeap, RUN.toMillis() / 2, TimeUnit.MILLISECONDS);
            default -> {}
        }
    }

    private static void fillHeap() {
        Object[] chain = {};
        while (true) {
            chain = new Object[] {chain, new byte[1 << 20]};
        }
    }

    private static void end(EventEnvelope event) {
        System.out.println("END " + event.eventId());
    }

    private static void spend(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        for (long left = time.toNanos(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
