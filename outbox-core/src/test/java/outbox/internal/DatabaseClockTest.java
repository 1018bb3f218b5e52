package outbox.internal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.fake.CapturedLog;
import outbox.fake.FakeConnections;
import outbox.fake.ScriptedStore;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Random;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the estimate of the database clock. The test controls the clocks of the database and of the machine. */
class DatabaseClockTest {

    private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");
    private static final Duration LEASE = Duration.ofMinutes(1);
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration TOLERANCE = Duration.ofMillis(1);

    private final CapturedLog log = CapturedLog.of(DatabaseClock.class);
    private final Connection connection;
    private final DatabaseClock clock = new DatabaseClock(scripted(), this::nanos);
    private long nanos; // monotonic clock of the machine
    private Duration offset = Duration.ZERO; // offset of the database clock
    private Duration before = Duration.ZERO; // time from the request to the reading
    private Duration slowOnce = Duration.ZERO; // additional delay of the next request
    private Duration after = Duration.ZERO; // time from the reading to the response

    DatabaseClockTest() throws SQLException {
        connection = new FakeConnections().getConnection();
    }

    @AfterEach
    void close() {
        log.close();
    }

    @Test
    void the_time_is_within_its_bounds_and_neither_goes_back_however_slow_the_answers() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        Instant latest = Instant.MIN;
        Instant earliest = Instant.MIN;
        for (int i = 0; i < 20_000; i++) {
            pass(Duration.ofNanos(random.nextLong(Duration.ofSeconds(3).toNanos())));
            before = Duration.ofNanos(random.nextLong(Duration.ofMillis(500).toNanos()));
            after = Duration.ofNanos(random.nextLong(Duration.ofMillis(500).toNanos()));

            Instant nextLatest = clock.latest(connection);
            assertThat(nextLatest)
                    .as("seed %d, step %d", seed, i)
                    .isAfterOrEqualTo(latest)
                    .isAfterOrEqualTo(micros());
            Instant nextEarliest = clock.earliest(connection);
            assertThat(nextEarliest)
                    .as("seed %d, step %d", seed, i)
                    .isAfterOrEqualTo(earliest)
                    .isBeforeOrEqualTo(truth());
            latest = nextLatest;
            earliest = nextEarliest;
        }
        assertThat(log.messages(Level.WARNING)).isEmpty();
    }

    @Test
    void a_slow_answer_does_not_make_the_bounds_wider_than_a_quick_one_of_before() {
        clock.latest(connection);
        before = Duration.ofSeconds(5);
        after = Duration.ofSeconds(5);
        pass(Duration.ofSeconds(21));

        Duration width = Duration.between(clock.earliest(connection), clock.latest(connection));

        assertThat(width).isLessThan(Duration.ofMillis(100));
    }

    @Test
    void a_first_answer_that_is_slow_is_asked_for_again() {
        slowOnce = Duration.ofSeconds(25);

        assertThat(clock.latest(connection)).isBetween(truth().minus(TOLERANCE), truth().plus(TOLERANCE));
    }

    @Test
    void an_answer_that_takes_long_is_no_jump() {
        clock.latest(connection);
        before = Duration.ofSeconds(25);
        pass(Duration.ofSeconds(30));
        clock.latest(connection);
        before = Duration.ZERO;
        after = Duration.ofSeconds(25);
        pass(Duration.ofSeconds(30));

        assertThat(clock.ended(connection, LEASE)).isBeforeOrEqualTo(truth().minus(LEASE));
        assertThat(log.messages(Level.WARNING)).isEmpty();
    }

    @Test
    void clocks_that_drift_apart_are_no_jump() {
        clock.latest(connection);
        for (int hour = 0; hour < 48; hour++) {
            pass(HOUR);
            offset = offset.plusMillis(hour % 2 == 0 ? 360 : -720); // drift of up to 200 ppm

            clock.latest(connection);
        }

        assertThat(log.messages(Level.WARNING)).isEmpty();
    }

    @Test
    void after_a_jump_ahead_leases_are_counted_by_the_former_time_until_the_last_of_them_has_ended() {
        clock.latest(connection);
        Instant leaseBegan = truth();
        offset = HOUR;
        pass(Duration.ofSeconds(21));

        assertThat(clock.ended(connection, LEASE)).isBefore(leaseBegan);
        assertThat(clock.latest(connection)).isBetween(truth().minus(TOLERANCE), truth().plus(TOLERANCE));
        pass(LEASE.minusSeconds(20)); // 61 s in total
        assertThat(clock.ended(connection, LEASE))
                .isAfter(leaseBegan)
                .isBetween(
                        truth().minus(HOUR).minus(LEASE).minusSeconds(1),
                        truth().minus(HOUR).minus(LEASE));
        pass(Duration.ofSeconds(42)); // the lease and the maximum age of a reading have passed
        assertThat(clock.ended(connection, LEASE))
                .isBetween(truth().minus(LEASE).minus(TOLERANCE), truth().minus(LEASE));
        assertThat(log.messages(Level.WARNING)).singleElement().asString().contains("went ahead by PT");
    }

    @Test
    void after_a_step_back_the_estimate_follows_and_leases_end() {
        clock.latest(connection);
        clock.earliest(connection);
        offset = HOUR.negated();
        pass(Duration.ofSeconds(21));

        assertThat(clock.latest(connection)).isBetween(truth().minus(TOLERANCE), truth().plus(TOLERANCE));
        assertThat(clock.ended(connection, LEASE))
                .isBetween(truth().minus(LEASE).minus(TOLERANCE), truth().minus(LEASE));
        assertThat(log.messages(Level.WARNING)).singleElement().asString().contains("went back by PT");
    }

    @Test
    void a_jump_that_is_taken_back_leaves_nothing_behind() {
        clock.latest(connection);
        offset = HOUR;
        pass(Duration.ofSeconds(21));
        clock.latest(connection);
        offset = Duration.ZERO;
        pass(Duration.ofSeconds(21));

        assertThat(clock.ended(connection, LEASE))
                .isBetween(truth().minus(LEASE).minusSeconds(1), truth().minus(LEASE));
    }

    @Test
    void who_asks_gets_what_the_database_says_though_the_estimate_is_ahead() {
        before = Duration.ofSeconds(5); // every request is slow
        Instant estimate = clock.latest(connection);
        before = Duration.ZERO;

        assertThat(clock.ask(connection)).isEqualTo(micros());
        assertThat(clock.latest(connection)).isAfterOrEqualTo(estimate);
    }

    private long nanos() {
        return nanos;
    }

    private void pass(Duration time) {
        nanos += time.toNanos();
    }

    private Instant truth() {
        return START.plusNanos(nanos).plus(offset);
    }

    private Instant micros() {
        return truth().truncatedTo(ChronoUnit.MICROS);
    }

    private LeasingEventStore scripted() {
        return ScriptedStore.of((self, method, args) -> {
            if (!method.getName().equals("now")) {
                throw new UnsupportedOperationException(method.getName());
            }
            pass(before.plus(slowOnce));
            slowOnce = Duration.ZERO;
            Instant answer = micros();
            pass(after);
            return answer;
        });
    }
}
