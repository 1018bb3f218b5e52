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
 * A clock that a test moves on: the time of the machine, and what was added. It ticks, and it goes forward only: a database stamps what is stored by its own clock, and that would lie in the future of one
 * that was set back. Give it to the code under test too, where that asks for the time. Thread-safe.
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

    /** Lets so much time pass at once, in microseconds. */
    public void advance(Duration time) {
        if (time.isNegative() || time.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("The clock goes forward only, and not by centuries: " + time);
        }
        aheadMicros.addAndGet(TimeUnit.MICROSECONDS.convert(time));
    }

    /** Lets time pass until the given moment. */
    public void set(Instant time) {
        Instant now = instant();
        if (time.isBefore(now)) {
            throw new IllegalArgumentException("The clock goes forward only: it is " + now + ", later than " + time);
        }
        advance(Duration.between(now, time));
    }

    /** Goes back to the time of the machine, as before each test. What was stored meanwhile keeps its times. */
    public void reset() {
        aheadMicros.set(0);
    }

    /** How far it is ahead of the time of the machine. */
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

    /** The same clock, which moves along with this one, in another zone. */
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
