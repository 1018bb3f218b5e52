package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxWriter.Change;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.testing.contract.StoreFixture;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Cancellation and delivery compete on two nodes. Exactly one of them succeeds, and the caller learns which one. Use
 * {@code -Doutbox.races=20000} for more races.
 */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class CancelRaceContract {

    private static final int RACES = Integer.getInteger("outbox.races", 3000);
    private static final int CANCELLERS = 4;

    private final Databases database;
    private final List<Node> nodes = new ArrayList<>();

    CancelRaceContract(Databases database) {
        this.database = database;
    }

    @AfterEach
    void closeNodes() {
        nodes.forEach(Node::close);
    }

    @Test
    void an_event_is_either_cancelled_or_delivered() throws Exception {
        StoreFixture db = database.fixture();
        Map<String, AtomicInteger> delivered = new ConcurrentHashMap<>();
        for (int i = 0; i < 2; i++) {
            Node node = new Node(db.dataSource(), db.store(), dispatcher -> {}, poller -> poller.intervalMs(5));
            node.listener = event -> delivered
                    .computeIfAbsent(event.eventId(), id -> new AtomicInteger())
                    .incrementAndGet();
            nodes.add(node);
            node.poller.start();
        }
        Set<String> cancelled = ConcurrentHashMap.newKeySet();
        Map<Change, AtomicInteger> answers = new ConcurrentHashMap<>();
        AtomicInteger next = new AtomicInteger();
        CountDownLatch start = new CountDownLatch(1);
        ExecutorService threads = Executors.newFixedThreadPool(CANCELLERS);
        try {
            List<Future<?>> runs = new ArrayList<>();
            for (int i = 0; i < CANCELLERS; i++) {
                Node node = nodes.get(i % 2);
                runs.add(threads.submit(() -> {
                    assertThat(start.await(30, TimeUnit.SECONDS)).isTrue();
                    for (int race = next.getAndIncrement(); race < RACES; race = next.getAndIncrement()) {
                        race(node, race, cancelled, answers);
                    }
                    return true;
                }));
            }
            start.countDown();
            for (Future<?> run : runs) {
                run.get(240, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }

        await().atMost(Duration.ofSeconds(60)).until(() -> db.count("status IN (0, 2)") == 0);
        System.out.println(database + ": " + RACES + " races, answers " + answers);
        assertThat(delivered.keySet()).doesNotContainAnyElementsOf(cancelled);
        assertThat(delivered).hasSize(RACES - cancelled.size());
        assertThat(delivered.values()).allMatch(count -> count.get() == 1);
        assertThat(db.count("status = 1")).isEqualTo(RACES - cancelled.size());
        assertThat(db.count("1 = 1")).isEqualTo(RACES - cancelled.size());
        assertThat(answers.keySet()) // both outcomes occurred, and both were reported
                .contains(Change.MADE)
                .containsAnyOf(Change.TOO_LATE, Change.NOT_FOUND);
        assertThat(cancelled).isNotEmpty();
        assertThat(delivered).isNotEmpty();
    }

    /**
     * Cancels by id or by key, on the hot or the cold path. The random pause lets the poller win about half of
     * the races.
     */
    private static void race(Node node, int race, Set<String> cancelled, Map<Change, AtomicInteger> answers) {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        EventEnvelope.Builder builder = EventEnvelope.builder("T").payloadJson("{}");
        boolean byKey = random.nextBoolean();
        if (byKey) {
            builder.dedupKey("k" + race);
        }
        if (random.nextInt(4) == 0) {
            builder.deliverAfter(Duration.ofMillis(random.nextInt(1, 8)));
        }
        EventEnvelope event = builder.build();
        node.write(random.nextInt(4) == 0 ? node.writer : node.coldWriter, event);
        LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(random.nextInt(8000)));
        EventRef ref = byKey ? EventRef.key("k" + race) : EventRef.id(event.eventId());
        Change change;
        try (Transaction tx = node.transactions.begin()) {
            change = node.writer.cancel(ref);
            if (random.nextInt(8) == 0) {
                // the delivery must wait for this transaction
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            }
            if (change == Change.MADE && random.nextInt(10) == 0) {
                tx.rollback();
                return;
            }
            tx.commit();
        }
        answers.computeIfAbsent(change, any -> new AtomicInteger()).incrementAndGet();
        if (change == Change.MADE) {
            cancelled.add(event.eventId());
        }
    }
}
