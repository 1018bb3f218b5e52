package outbox.poller;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.fake.CountedMetrics;
import outbox.fake.FakeLeadership;
import outbox.model.OutboxEvent;
import outbox.poller.EventSource.Found;
import outbox.poller.PollCycle.Result;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;
import outbox.spi.PollerNeeds;

import java.time.Duration;
import java.time.Instant;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Tests how many events a cycle requests and what it reports for the next cycle. */
class PollCycleTest {

    private static final int DEFAULT = 50;
    private static final int BACKLOG = 1000;

    private final Source source = new Source();
    private final Handler handler = new Handler();

    @Test
    void an_idle_cycle_asks_for_little_and_finds_nothing() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);

        assertThat(cycle.run()).isEqualTo(Result.NOTHING);
        assertThat(cycle.run()).isEqualTo(Result.NOTHING);

        assertThat(source.limits).containsExactly(50, 50);
    }

    @Test
    void after_a_full_batch_the_next_asks_for_as_much_as_a_backlog_may() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 2000;

        assertThat(cycle.run()).isEqualTo(Result.FULL);
        assertThat(cycle.run()).isEqualTo(Result.FULL);
        assertThat(cycle.run()).isEqualTo(Result.SOME);
        assertThat(cycle.run()).isEqualTo(Result.NOTHING);

        assertThat(source.limits).containsExactly(50, 1000, 1000, 50);
    }

    @Test
    void a_backlog_is_asked_for_within_the_room() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 2000;
        cycle.run();
        handler.room = 300;

        Result result = cycle.run();

        assertThat(source.limits).containsExactly(50, 300);
        assertThat(handler.room).isZero();
        assertThat(result).isEqualTo(Result.NOTHING); // until there is room again
        handler.room = 5000;
        assertThat(cycle.run()).isEqualTo(Result.FULL);
        assertThat(source.limits).containsExactly(50, 300, 1000);
    }

    @Test
    void a_size_that_the_user_set_is_never_exceeded() {
        PollCycle cycle = cycle(7, 7);
        source.waiting = 100;

        for (int i = 0; i < 5; i++) {
            assertThat(cycle.run()).isEqualTo(Result.FULL);
        }

        assertThat(source.limits).containsOnly(7);
    }

    @Test
    void the_first_look_is_careful_about_bytes_and_later_ones_know_better() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 2000;
        handler.byteRoom = 10L * EventEnvelope.MAX_PAYLOAD_BYTES;

        cycle.run();

        assertThat(source.limits.get(0)).isEqualTo(10);
        assertThat(source.limits).hasSizeGreaterThan(1);
        assertThat(50 - source.limits.get(0))
                .isEqualTo(source.limits.stream().skip(1).mapToInt(i -> i).sum());
    }

    @Test
    void without_any_capacity_the_table_is_not_asked() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 10;
        handler.room = 0;

        assertThat(cycle.run()).isEqualTo(Result.NOTHING);

        assertThat(source.limits).isEmpty();
    }

    @Test
    void what_the_handler_refuses_after_all_is_given_back() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 40;
        handler.refuseFrom = 15;

        assertThat(cycle.run()).isEqualTo(Result.SOME);

        assertThat(handler.taken).hasSize(15);
        assertThat(source.givenBack).isEqualTo(25);
    }

    @Test
    void a_row_with_a_fault_is_dead_although_the_handler_has_no_room() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 40;
        source.faultyFrom = 30;
        handler.refuseFrom = 15;

        assertThat(cycle.run()).isEqualTo(Result.SOME);

        assertThat(source.givenBack).isEqualTo(15);
        assertThat(source.dead).hasSize(10).allMatch(why -> why.contains("wrong lock"));
    }

    @Test
    void a_claim_that_fails_is_followed_by_smaller_ones_until_one_succeeds() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 1000;
        source.tooMany = 10; // more than this exceed the time limit of the database

        for (int i = 0; i < 4; i++) {
            assertThatThrownBy(cycle::run).hasMessage("took too long");
        }

        assertThat(source.limits).containsExactly(50, 25, 12, 6, 12);
        assertThat(handler.taken).hasSize(6);
        source.tooMany = Integer.MAX_VALUE;
        while (source.waiting > 0) {
            cycle.run();
        }
        source.limits.clear();
        cycle.run();
        assertThat(source.limits).containsExactly(50); // the limit is back to normal
    }

    @Test
    void a_claim_that_finds_little_after_a_failure_does_not_allow_larger_ones() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.tooMany = 30;
        assertThatThrownBy(cycle::run).hasMessage("took too long");

        // the rows may still be locked by the statement that took too long
        cycle.run();
        source.waiting = 20;
        cycle.run();
        cycle.run();

        assertThat(source.limits).containsExactly(50, 25, 25, 25);
    }

    @Test
    void a_claim_that_always_fails_asks_for_one_event_at_least() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.tooMany = 0;

        for (int i = 0; i < 8; i++) {
            assertThatThrownBy(cycle::run).hasMessage("took too long");
        }

        assertThat(source.limits).containsExactly(50, 25, 12, 6, 3, 1, 1, 1);
    }

    @Test
    void a_source_that_does_not_take_is_not_asked_again_at_once() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 2000;
        source.takes = false;

        assertThat(cycle.run()).isEqualTo(Result.SOME);
        assertThat(cycle.run()).isEqualTo(Result.SOME);

        assertThat(source.limits).containsExactly(50, 50);
    }

    @Test
    void what_was_due_centuries_ago_is_handed_over() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 1;
        source.untilDue = Duration.ofDays(-400_000);

        assertThat(cycle.run()).isEqualTo(Result.SOME);

        assertThat(handler.taken).hasSize(1);
    }

    @Test
    void a_time_that_no_span_can_count_gives_the_longest_lag_and_a_dead_event() {
        CountedMetrics counted = new CountedMetrics();
        PollCycle cycle = new PollCycle(source, handler, needs(), settings(DEFAULT, BACKLOG, counted.exporter()));
        source.waiting = 3;
        source.times = List.of(Instant.MIN, Instant.now(), Instant.MAX);

        assertThat(cycle.run()).isEqualTo(Result.SOME);

        assertThat(handler.taken).hasSize(1);
        assertThat(source.dead).hasSize(2).allMatch(why -> why.contains("out of range"));
        assertThat((long) counted.last("recordOldestLagMs")[0]).isPositive();
    }

    @Test
    void whatever_fails_behind_the_claim_releases_the_batch() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 40;
        source.untilDue = Duration.ofSeconds(Long.MAX_VALUE); // too long for nanoseconds in a long

        assertThatThrownBy(cycle::run).isInstanceOf(ArithmeticException.class);

        assertThat(source.givenBack).isEqualTo(40);
        assertThat(handler.taken).isEmpty();
    }

    @Test
    void an_error_of_the_jvm_releases_the_batch_too() {
        handler.failFrom = 10;
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 40;

        cycle.run();

        assertThat(handler.taken).hasSize(10);
        assertThat(source.givenBack).isEqualTo(30);
    }

    @Test
    void an_error_of_the_jvm_on_the_way_to_the_handler_releases_what_it_has_not_got() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 40;
        source.failFrom = 10;

        assertThatThrownBy(cycle::run).isInstanceOf(OutOfMemoryError.class);

        assertThat(handler.taken).hasSize(10);
        assertThat(source.givenBack).isEqualTo(30);
    }

    @Test
    void headers_beyond_the_limits_make_the_event_dead() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        String many =
                IntStream.range(0, 257).mapToObj(i -> "\"h" + i + "\":\"\"").collect(joining(",", "{", "}"));
        List<String> hostile = List.of(
                many,
                "{\"large\":\"" + "x".repeat(65_536) + "\"}",
                "{\"" + "n".repeat(257) + "\":\"\"}",
                "{\"\":\"\"}",
                "{\"a\\u0007\":\"\"}",
                "{\"Outbox-large\":\"" + "x".repeat(65_536) + "\"}");
        for (String headers : hostile) {
            source.headers = headers;
            source.waiting = 1;
            cycle.run();
        }
        assertThat(source.dead).hasSize(hostile.size());

        source.headers = "{\"outbox-hops\":\"3\",\"large\":\"" + "x".repeat(65_531) + "\"}";
        source.waiting = 1;
        cycle.run();

        assertThat(handler.taken).hasSize(1);
    }

    @Test
    void a_batch_that_was_cut_for_lack_of_memory_is_followed_by_another_look() {
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        source.waiting = 5;
        source.cutAt = 2;

        cycle.run();

        assertThat(handler.taken).hasSize(5);
        assertThat(source.limits).containsExactly(50, 48, 46);
    }

    @Test
    void a_standby_does_not_ask_the_table_and_a_new_leader_tells_the_source_so() {
        FakeLeadership leadership = new FakeLeadership();
        handler.leadership = leadership;
        PollCycle cycle = cycle(DEFAULT, BACKLOG);
        leadership.leads = false;

        assertThat(cycle.run()).isEqualTo(Result.STANDBY);

        assertThat(source.limits).isEmpty();
        leadership.leads = true;
        cycle.run();
        cycle.run();
        assertThat(source.leaderships).isEqualTo(1);
        leadership.leads = false;
        cycle.run();
        leadership.leads = true;
        cycle.run();
        assertThat(source.leaderships).isEqualTo(2);
    }

    @Test
    void what_died_in_the_table_or_cannot_be_decoded_is_counted() {
        CountedMetrics counted = new CountedMetrics();
        PollCycle cycle = new PollCycle(source, handler, needs(), settings(DEFAULT, BACKLOG, counted.exporter()));
        source.expired = List.of("late-1", "late-2");

        cycle.run();

        assertThat(counted.count("incrementDispatchDead")).isEqualTo(2);
        assertThat(counted.count("recordDead")).isEqualTo(2);
        assertThat(counted.last("recordDead")).containsExactly((Object) null);

        source.expired = List.of();
        source.waiting = 1;
        source.headers = "{";
        cycle.run();

        assertThat(counted.count("incrementDispatchDead")).isEqualTo(3);
        assertThat(counted.last("recordDead")).containsExactly("t");

        source.waiting = 1;
        source.marks = false; // its lease was lost
        cycle.run();

        assertThat(counted.count("recordDead")).isEqualTo(3);
        assertThat(handler.taken).isEmpty();
    }

    private KnownNeeds needs() {
        KnownNeeds needs = new KnownNeeds(new IdlePoller());
        needs.add(handler.needs());
        return needs;
    }

    private PollCycle cycle(int batchSize, int backlogBatchSize) {
        return new PollCycle(source, handler, needs(), settings(batchSize, backlogBatchSize, MetricsExporter.NOOP));
    }

    private static OutboxPoller.Builder settings(int batchSize, int backlogBatchSize, MetricsExporter metrics) {
        OutboxPoller.Builder settings = OutboxPoller.builder();
        settings.batchSize = batchSize;
        settings.backlogBatchSize = backlogBatchSize;
        settings.metrics = metrics;
        return settings;
    }

    /** A source with this number of events, which records the requested limits. */
    private static final class Source implements EventSource {

        private final List<Integer> limits = new ArrayList<>();
        private int waiting;
        private int givenBack;
        private int leaderships;
        private boolean takes = true;
        private Duration untilDue = Duration.ZERO;
        private boolean marks = true;
        private String headers = "{}";
        private List<String> expired = List.of();
        private List<Instant> times = List.of();
        private int cutAt = Integer.MAX_VALUE;
        private int faultyFrom = Integer.MAX_VALUE;
        private int tooMany = Integer.MAX_VALUE;
        private int failFrom = -1; // the index of an event
        private final List<String> dead = new ArrayList<>();

        @Override
        public Batch next(int limit, boolean suspects) {
            limits.add(limit);
            if (limit >= tooMany) {
                throw new IllegalStateException("took too long");
            }
            int found = Math.min(cutAt, Math.min(limit, waiting));
            waiting -= takes ? found : 0;
            Instant now = Instant.now();
            List<Found> events = IntStream.range(0, found)
                    .mapToObj(i -> new Found(row(i, now), null, false))
                    .toList();
            return new Batch(
                    failFrom < 0 ? events : new FailingList(events, failFrom),
                    now,
                    untilDue,
                    null,
                    expired,
                    List.of(),
                    List.of(),
                    found == cutAt);
        }

        private OutboxEvent row(int i, Instant now) {
            Instant createdAt = times.isEmpty() ? now : times.get(i);
            OutboxEvent row = new OutboxEvent("e" + i, "t", null, null, null, "{}", headers, 0, createdAt);
            return i < faultyFrom ? row : row.withFault("wrong lock");
        }

        @Override
        public void leads(long sinceNanos) {
            leaderships++;
        }

        @Override
        public boolean takes() {
            return takes;
        }

        @Override
        public void release(List<Found> events) {
            givenBack += events.size();
        }

        @Override
        public boolean markDead(Found event, String error) {
            dead.add(error);
            return marks;
        }
    }

    /** Takes as many events as there is room for. */
    private static final class Handler implements OutboxPollerHandler {

        private final List<EventEnvelope> taken = new ArrayList<>();
        private int room = 100_000;
        private long byteRoom = Long.MAX_VALUE;
        private int refuseFrom = Integer.MAX_VALUE;
        private int failFrom = Integer.MAX_VALUE;
        private @Nullable Leadership leadership;

        @Override
        public boolean handle(EventEnvelope event, int attempts) {
            if (taken.size() >= refuseFrom) {
                return false;
            }
            if (taken.size() >= failFrom) {
                throw new OutOfMemoryError("for this test");
            }
            taken.add(event);
            room--;
            return true;
        }

        @Override
        public boolean hasCapacity() {
            return room > 0;
        }

        @Override
        public PollerNeeds needs() {
            return new PollerNeeds() {
                @Override
                public @Nullable Leadership leadership() {
                    return leadership;
                }

                @Override
                public int room() {
                    return room;
                }

                @Override
                public long byteRoom() {
                    return byteRoom;
                }
            };
        }
    }

    /** A list that throws OutOfMemoryError from the given index on. */
    private static final class FailingList extends AbstractList<Found> {

        private final List<Found> events;
        private final int failFrom;

        FailingList(List<Found> events, int failFrom) {
            this.events = events;
            this.failFrom = failFrom;
        }

        @Override
        public Found get(int index) {
            if (index >= failFrom) {
                throw new OutOfMemoryError("for this test");
            }
            return events.get(index);
        }

        @Override
        public Iterator<Found> iterator() {
            return events.iterator();
        }

        @Override
        public int size() {
            return events.size();
        }
    }

    private static final class IdlePoller implements PollerNeeds.Poller {

        @Override
        public @Nullable Duration lockTimeout() {
            return null;
        }

        @Override
        public void wake() {}

        @Override
        public void wakeAt(Instant time) {}

        @Override
        public void wakeAfter(Duration time) {}
    }
}
