package outbox.testing;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that a test can move forward: the system time plus an offset. It keeps ticking. It cannot be set to a time
 * before the system time, because the database stores times of its own clock, and they would then be in the future.
 * Also pass this clock to code under test that needs the current time. Thread-safe.
 */
public final class TestClock extends Clock {

    private static final Duration LONGEST = Duration.ofDays(100_000);

    private final Clock base;
    private final AtomicLong aheadMicros;

    public TestClock() {
        this(Clock.systemUTC(), new AtomicLong());
    }

    private TestClock(Clock base, AtomicLong aheadMicros) {
        this.base = base;
        this.aheadMicros = aheadMicros;
    }

    /** Moves the clock forward by this duration, with microsecond precision. */
    public void advance(Duration time) {
        if (time.isNegative() || time.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("The clock goes forward only, and not by centuries: " + time);
        }
        aheadMicros.addAndGet(TimeUnit.MICROSECONDS.convert(time));
    }

    /** Moves the clock forward to this time. */
    public void set(Instant time) {
        Instant now = instant();
        if (time.isBefore(now)) {
            throw new IllegalArgumentException("The clock goes forward only: it is " + now + ", later than " + time);
        }
        advance(Duration.between(now, time));
    }

    /** Sets the clock back to the system time, as before each test. Stored events keep their times. */
    public void reset() {
        aheadMicros.set(0);
    }

    /** Returns how far the clock is ahead of the system time. */
    public Duration ahead() {
        return Duration.of(aheadMicros.get(), ChronoUnit.MICROS);
    }

    @Override
    public Instant instant() {
        return base.instant().plus(ahead());
    }

    @Override
    public ZoneId getZone() {
        return base.getZone();
    }

    /** Returns a view of this clock in another zone. Both always move together. */
    @Override
    public Clock withZone(ZoneId zone) {
        return new TestClock(base.withZone(zone), aheadMicros);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TestClock that
                && aheadMicros == that.aheadMicros
                && getZone().equals(that.getZone());
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(aheadMicros);
    }

    @Override
    public String toString() {
        return "TestClock[" + instant().atZone(ZoneOffset.UTC) + ", " + ahead() + " ahead]";
    }
}
