package outbox.reconcile;

/** The query of a job: user code that searches for facts whose event or effect is missing. */
@FunctionalInterface
public interface FactFinder {

    /**
     * Searches for the next facts and returns their events in a fixed order. Called on a separate thread, outside
     * any transaction. While the lease of the run is valid, only one node calls it. An exception ends the run and is
     * recorded. The finder must only read: the reconciler writes the returned events, or drops them if another node
     * has taken over the job.
     */
    Found find(FactSearch search) throws Exception;
}
