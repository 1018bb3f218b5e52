package outbox.reconcile;

/** The query of a job: user code that looks for facts whose event, or whose effect, is missing. */
@FunctionalInterface
public interface FactFinder {

    /**
     * Looks for the next facts, and answers their events in a fixed order. Called on a thread of its own, outside any transaction, by one node at a time as far as leases go; what it throws ends the run and is recorded. It only reads:
     * what it answers is written by the reconciler, or dropped if another node has taken over meanwhile.
     */
    Found find(FactSearch search) throws Exception;
}
