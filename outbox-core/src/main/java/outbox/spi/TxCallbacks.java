package outbox.spi;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;

/**
 * The callbacks of one transaction, for implementations of {@link TxContext}. What was registered after a savepoint is forgotten when the transaction is rolled back to it. Used by
 * the thread of the transaction.
 */
public final class TxCallbacks {

    private static final Logger LOG = System.getLogger(TxCallbacks.class.getName());

    private final List<Runnable> beforeCommit = new ArrayList<>();
    private final List<Runnable> afterCommit = new ArrayList<>();
    private final List<Runnable> afterRollback = new ArrayList<>();
    private final IdentityHashMap<Object, Integer> savepoints =
            new IdentityHashMap<>(); // → number of after-commit callbacks before it

    public void beforeCommit(Runnable callback) {
        beforeCommit.add(callback);
    }

    public void afterCommit(Runnable callback) {
        afterCommit.add(callback);
    }

    public void afterRollback(Runnable callback) {
        afterRollback.add(callback);
    }

    public void savepoint(Object savepoint) {
        savepoints.put(savepoint, afterCommit.size());
    }

    /** A savepoint that is not known was set before anything was registered. */
    public void savepointRollback(Object savepoint) {
        int before = savepoints.getOrDefault(savepoint, 0);
        if (before < afterCommit.size()) {
            afterCommit.subList(before, afterCommit.size()).clear();
        }
    }

    /** Runs what must happen inside the transaction; what it throws is for the caller, who rolls back. */
    public void committing() {
        beforeCommit.forEach(Runnable::run);
    }

    public void committed() {
        runAll(afterCommit);
    }

    public void rolledBack() {
        runAll(afterRollback);
    }

    /** The transaction is over: what a callback throws must not look like its failure. */
    private static void runAll(List<Runnable> callbacks) {
        for (Runnable callback : callbacks) {
            try {
                callback.run();
            } catch (Throwable e) {
                LOG.log(Level.ERROR, "A callback failed after the end of its transaction", e);
            }
        }
    }
}
