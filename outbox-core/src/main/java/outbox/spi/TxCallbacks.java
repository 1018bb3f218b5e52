package outbox.spi;

import outbox.Experimental;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;

/**
 * The callbacks of one transaction, for implementations of {@link TxContext}. Callbacks that were registered
 * after a savepoint are removed when the transaction is rolled back to it. Only the thread of the transaction
 * uses this class.
 */
@Experimental
public final class TxCallbacks {

    /** A transaction context whose current transaction has callbacks of this class. */
    public abstract static class Context implements TxContext {

        /** Returns the callbacks of the current transaction. Throws if there is none. */
        protected abstract TxCallbacks callbacks();

        @Override
        public final void afterCommit(Runnable callback) {
            callbacks().afterCommit(callback);
        }

        @Override
        public final void afterRollback(Runnable callback) {
            callbacks().afterRollback(callback);
        }

        @Override
        public final boolean beforeCommit(Runnable callback) {
            return callbacks().beforeCommit(callback);
        }

        @Override
        public final boolean whenUndone(Runnable callback) {
            callbacks().whenUndone(callback);
            return true;
        }

        @Override
        public final Object scope() {
            return callbacks().scope();
        }
    }

    private static final Logger LOG = SafeLogger.of(TxCallbacks.class);

    private final List<Runnable> beforeCommit = new ArrayList<>();
    private final List<Runnable> afterCommit = new ArrayList<>();
    private final List<Runnable> afterRollback = new ArrayList<>();
    private final List<Runnable> whenUndone = new ArrayList<>();
    private final List<Runnable> whenUnknown = new ArrayList<>();
    private final IdentityHashMap<Object, Mark> savepoints = new IdentityHashMap<>();
    private Object scope = new Object();
    private boolean checked; // the callbacks before the commit have run

    /** The number of callbacks at the time a savepoint was set. */
    private record Mark(int beforeCommit, int afterCommit, int whenUndone) {}

    /** Returns false and does not keep the callback if {@link #committing} has already run. */
    public boolean beforeCommit(Runnable callback) {
        return !checked && beforeCommit.add(callback);
    }

    public void afterCommit(Runnable callback) {
        afterCommit.add(callback);
    }

    public void afterRollback(Runnable callback) {
        afterRollback.add(callback);
    }

    /** See {@link TxContext#whenUndone}. */
    public void whenUndone(Runnable callback) {
        whenUndone.add(callback);
    }

    /** See {@link TxContext#whenUnknown}. */
    public void whenUnknown(Runnable callback) {
        whenUnknown.add(callback);
    }

    public void savepoint(Object savepoint) {
        savepoints.put(savepoint, new Mark(beforeCommit.size(), afterCommit.size(), whenUndone.size()));
        scope = new Object();
    }

    /** Handles a rollback to a savepoint. An unknown savepoint was set before any callback was registered. */
    public void savepointRollback(Object savepoint) {
        Mark mark = savepoints.getOrDefault(savepoint, new Mark(0, 0, 0));
        dropFrom(beforeCommit, mark.beforeCommit);
        dropFrom(afterCommit, mark.afterCommit);
        undoFrom(mark.whenUndone);
        scope = new Object();
    }

    private void undoFrom(int from) {
        List<Runnable> undone =
                new ArrayList<>(whenUndone.subList(Math.min(from, whenUndone.size()), whenUndone.size()));
        Collections.reverse(undone);
        dropFrom(whenUndone, from);
        runAll(undone);
    }

    private static void dropFrom(List<Runnable> callbacks, int from) {
        if (from < callbacks.size()) {
            callbacks.subList(from, callbacks.size()).clear();
        }
    }

    /** See {@link TxContext#scope()}. */
    public Object scope() {
        return scope;
    }

    /**
     * Runs the callbacks that belong inside the transaction, including callbacks registered meanwhile. Exceptions
     * reach the caller, which rolls back.
     */
    public void committing() {
        for (int i = 0; i < beforeCommit.size(); i++) {
            beforeCommit.get(i).run();
        }
        checked = true;
    }

    public void committed() {
        runAll(afterCommit);
    }

    public void rolledBack() {
        undoFrom(0);
        runAll(afterRollback);
    }

    /** Called if it is unknown whether the transaction committed. Runs only the callbacks for this case. */
    public void unknown() {
        runAll(whenUnknown);
    }

    /**
     * Runs callbacks after the transaction has ended. Their exceptions are logged, because they must not look like a
     * failure of the transaction.
     */
    private static void runAll(List<Runnable> callbacks) {
        for (Runnable callback : callbacks) {
            try {
                callback.run();
            } catch (Throwable e) {
                LOG.log(Level.ERROR, "A callback failed after the end of its transaction or savepoint", e);
            }
        }
    }
}
