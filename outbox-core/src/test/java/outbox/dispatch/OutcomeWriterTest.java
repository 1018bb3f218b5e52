package outbox.dispatch;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.dispatch.OutcomeWriter.Written;
import outbox.fake.BrokenLog;
import outbox.fake.CapturedLog;
import outbox.fake.FakeConnections;
import outbox.fake.ScriptedStore;
import outbox.spi.Claim;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.logging.Level;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

@Timeout(30)
class OutcomeWriterTest {

    // results of the store, set before an outcome is handed over
    private final Deque<Object> answers = new ArrayDeque<>();
    private final LinkedBlockingQueue<Written> told = new LinkedBlockingQueue<>();
    private final Set<String> texts = ConcurrentHashMap.newKeySet();
    private volatile Runnable afterwards = () -> {};
    private volatile Function<Collection<?>, Set<String>> leftOut = ids -> Set.of(); // the result of lockFree

    @Test
    void an_outcome_is_written_or_its_claim_was_lost() throws InterruptedException {
        assertThat(mark(Set.of("it"))).isEqualTo(Written.YES);
        assertThat(mark(Set.of())).isEqualTo(Written.NO);
    }

    @Test
    void an_outcome_whose_claim_is_gone_after_a_broken_connection_was_probably_written() throws InterruptedException {
        SQLException broken = new SQLException("cut", "08006");

        assertThat(mark(broken, Set.of("it"))).isEqualTo(Written.YES);
        assertThat(mark(broken, Set.of())).isEqualTo(Written.PROBABLY);
    }

    @Test
    void an_outcome_was_probably_written_if_a_proxy_lost_its_server() throws InterruptedException {
        // reported by ProxySQL and MaxScale with a general SQLState
        for (int code : new int[] {1053, 2006, 2013}) {
            assertThat(mark(new SQLException("lost", "HY000", code), Set.of())).isEqualTo(Written.PROBABLY);
        }
    }

    @Test
    void an_outcome_that_was_never_sent_was_not_written_before() throws InterruptedException {
        assertThat(mark(new SQLException("refused", "08001"), Set.of())).isEqualTo(Written.NO);
    }

    @Test
    void an_outcome_is_written_once_whatever_comes_after_it_throws() throws InterruptedException {
        afterwards = () -> {
            throw new NoClassDefFoundError("of a library of another version");
        };

        assertThat(mark(Set.of("it"), Set.of())).isEqualTo(Written.YES);
        assertThat(told).isEmpty();
        assertThat(answers).hasSize(1); // the store was not asked to write again
    }

    @Test
    void an_outcome_is_written_though_nothing_can_be_logged() throws InterruptedException {
        try (BrokenLog broken = BrokenLog.of(OutcomeWriter.class)) {
            assertThat(mark(new SQLException("cut", "08006"), Set.of("it"))).isEqualTo(Written.YES);
            assertThat(broken.failures()).isPositive();
        }
    }

    @Test
    void under_load_outcomes_share_a_write() throws InterruptedException {
        AtomicInteger writes = new AtomicInteger();
        OutcomeWriter marker = marker(arguments -> {
            writes.incrementAndGet();
            return ((List<?>) arguments[1])
                    .stream().map(mark -> ((Mark) mark).eventId()).collect(toSet());
        });

        // one after the other; a writer that does not wait for more outcomes writes almost as often
        int events = 5_000;
        for (int i = 0; i < events; i++) {
            marker.mark(delivery("event-" + i), Mark.done("event-" + i, "token"));
        }

        assertThat(marker.close(Duration.ofSeconds(5))).isTrue();
        assertThat(told).hasSize(events).containsOnly(Written.YES);
        assertThat(writes).hasValueLessThan(events / 10);
    }

    @Test
    void an_outcome_whose_row_is_locked_waits_and_the_others_are_written() throws InterruptedException {
        CountDownLatch unlocked = new CountDownLatch(1);
        leftOut = ids -> unlocked.getCount() > 0 && ids.contains("locked") ? Set.of("locked") : Set.of();
        OutcomeWriter marker = marker(arguments -> {
            Set<String> ids = idsOf(arguments);
            if (unlocked.getCount() > 0 && ids.contains("locked")) {
                throw new OutboxException("locked", new SQLException("locked", "55P03"));
            }
            return ids;
        });

        marker.mark(delivery("locked"), Mark.done("locked", "token"));
        for (int i = 0; i < 10; i++) {
            marker.mark(delivery("free-" + i), Mark.done("free-" + i, "token"));
        }

        for (int i = 0; i < 10; i++) {
            assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo(Written.YES);
        }
        assertThat(told).isEmpty();
        unlocked.countDown();
        assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo(Written.YES);
        assertThat(marker.close(Duration.ofSeconds(5))).isTrue();
    }

    @Test
    void a_person_is_called_for_an_outcome_that_the_database_refuses_while_it_writes_others()
            throws InterruptedException {
        AtomicInteger refusals = new AtomicInteger();
        OutcomeWriter marker = marker(arguments -> {
            Set<String> ids = idsOf(arguments);
            if (ids.contains("bad")) {
                refusals.incrementAndGet();
                throw new OutboxException("refused", new SQLException("not this one", "P0001"));
            }
            return ids;
        });
        try (CapturedLog log = CapturedLog.of(OutcomeWriter.class)) {
            marker.mark(delivery("bad"), Mark.done("bad", "token"));
            for (int i = 0; alarms(log).isEmpty(); i++) {
                assertThat(i).as("others").isLessThan(3000);
                marker.mark(delivery("good-" + i), Mark.done("good-" + i, "token"));
                assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo(Written.YES);
                LockSupport.parkNanos(10_000_000);
            }

            assertThat(alarms(log)).singleElement().asString().contains("event bad");
            assertThat(marker.close(Duration.ofSeconds(5))).isFalse(); // it gave up the outcome
            assertThat(refusals).hasValueLessThan(100);
        }
    }

    private static List<String> alarms(CapturedLog log) {
        return log.messages(Level.SEVERE).stream()
                .filter(message -> message.contains("for good"))
                .toList();
    }

    @Test
    void nobody_is_called_while_nothing_at_all_can_be_written() throws InterruptedException {
        AtomicInteger refusals = new AtomicInteger();
        CountDownLatch granted = new CountDownLatch(1);
        OutcomeWriter marker = marker(arguments -> {
            if (granted.getCount() > 0) {
                refusals.incrementAndGet();
                throw new OutboxException("refused", new SQLException("no grant", "42501"));
            }
            return idsOf(arguments);
        });
        try (CapturedLog log = CapturedLog.of(OutcomeWriter.class)) {
            for (int i = 0; i < 400; i++) {
                marker.mark(delivery("event-" + i), Mark.dead("event-" + i, "token", true, "its reason"));
            }
            while (refusals.get() < 60) {
                LockSupport.parkNanos(1_000_000);
            }
            granted.countDown();

            for (int i = 0; i < 400; i++) {
                assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo(Written.YES);
            }
            assertThat(marker.close(Duration.ofSeconds(5))).isTrue();
            assertThat(alarms(log)).isEmpty();
            assertThat(texts).containsOnly("its reason");
        }
    }

    /** Returns the events of a call of mark, and records the error texts. */
    private Set<String> idsOf(Object[] arguments) {
        return ((List<?>) arguments[1])
                .stream()
                        .map(Mark.class::cast)
                        .peek(mark -> texts.add(mark.error()))
                        .map(Mark::eventId)
                        .collect(toSet());
    }

    /** Hands over an outcome while the store returns this. Returns the reaction of the outcome writer. */
    private Written mark(Object... storeAnswers) throws InterruptedException {
        answers.addAll(List.of(storeAnswers));
        OutcomeWriter marker = marker(arguments -> answer());

        marker.mark(delivery("it"), Mark.done("it", "token"));

        Written written = told.poll(10, TimeUnit.SECONDS);
        assertThat(marker.close(Duration.ofSeconds(5))).isTrue();
        return written;
    }

    /** Starts an outcome writer on a store that returns this for its marks. */
    private OutcomeWriter marker(Function<Object[], Object> marks) {
        LeasingEventStore store = ScriptedStore.of((self, method, arguments) -> switch (method.getName()) {
            case "mark" -> marks.apply(arguments);
            case "now" -> Instant.EPOCH;
            case "lockFree" -> leftOut.apply((Collection<?>) arguments[1]);
            default -> null;
        });
        OutcomeWriter marker = new OutcomeWriter(
                new ClaimedStore(new FakeConnections(), store, "test", Duration.ofMinutes(5), null, false),
                new Told(),
                new LeadershipFence(null, () -> {}),
                task -> new Thread(task, "marker"),
                false);
        marker.start();
        return marker;
    }

    private static Delivery delivery(String eventId) {
        EventEnvelope event =
                EventEnvelope.builder("T").eventId(eventId).payloadJson("{}").build();
        Delivery delivery = new Delivery(
                new QueuedEvent(event, QueuedEvent.Source.HOT, 0),
                Claim.startingNow("token", Duration.ofMinutes(5)),
                false);
        delivery.start(null);
        return delivery;
    }

    private Object answer() {
        Object next = answers.remove();
        if (next instanceof SQLException failure) {
            throw new OutboxException("failed", failure);
        }
        return next;
    }

    private final class Told implements OutcomeWriter.Listener {

        @Override
        public void marked(Delivery delivery, Mark mark, Written written) {
            told.add(written);
            afterwards.run();
        }

        @Override
        public void overtaken(Delivery delivery) {}

        @Override
        public void released(Release release) {}

        @Override
        public void postponed(Delivery delivery) {}

        @Override
        public void markFailed(Throwable why) {}
    }
}
