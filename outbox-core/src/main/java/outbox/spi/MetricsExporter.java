package outbox.spi;

/**
 * Receives what the engine counts. Called on its working threads: implementations are thread-safe, quick, and do not throw.
 *
 * <p>The methods with a body were added after the specification; they do nothing by default so that exporters written against it keep compiling.
 */
public interface MetricsExporter {

    MetricsExporter NOOP = new Noop();

    void incrementHotEnqueued();

    void incrementHotDropped();

    void incrementColdEnqueued();

    void incrementDispatchSuccess();

    void incrementDispatchFailure();

    void incrementDispatchDead();

    void recordQueueDepths(int hotDepth, int coldDepth);

    void recordOldestLagMs(long lagMs);

    /** The outcome of a run, or a claimed event that waited, was dropped because its claim had been lost. */
    default void incrementLostClaims() {}

    /** A listener ran past its time limit and did not end when interrupted. */
    default void incrementStuckListeners() {}

    /** Writing outcomes failed and will be tried again. */
    default void incrementMarkFailures() {}

    /** How many workers are able to take events. */
    default void recordLiveWorkers(int workers) {}

    /** The state of a circuit breaker on this node, every now and then: {@code CLOSED}, {@code OPEN} or {@code HALF_OPEN}. */
    default void recordBreaker(String breaker, String state) {}

    /** How many events run under a limit of this node, and how many wait in memory for it, every now and then. */
    default void recordLimit(String limit, int running, int waiting) {}

    /** How many pauses are in force, every now and then. */
    default void recordPauses(int pauses) {}

    /** Discards everything. */
    final class Noop implements MetricsExporter {

        private Noop() {}

        @Override
        public void incrementHotEnqueued() {}

        @Override
        public void incrementHotDropped() {}

        @Override
        public void incrementColdEnqueued() {}

        @Override
        public void incrementDispatchSuccess() {}

        @Override
        public void incrementDispatchFailure() {}

        @Override
        public void incrementDispatchDead() {}

        @Override
        public void recordQueueDepths(int hotDepth, int coldDepth) {}

        @Override
        public void recordOldestLagMs(long lagMs) {}
    }
}
