package outbox.spi;

/** A store whose clock somebody may set at any time, as a test does: a reading of {@link #now} holds for the moment only, so the engine asks each time. */
public interface SettableClockEventStore extends LeasingEventStore {}
