package outbox.spi;

import outbox.Experimental;

/**
 * A store whose clock can be set at any time, for example by a test. A value of {@link #now} is valid only at that
 * moment, so the engine reads the clock each time.
 */
@Experimental
public interface SettableClockEventStore extends LeasingEventStore {}
