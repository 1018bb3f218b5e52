package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs the finder of a job on a separate thread, with a time limit, so that a finder that hangs does not block the
 * caller for longer. After the time limit, the thread is interrupted. While it still runs, the finder is not called
 * again, so at most one thread per job is in it.
 */
final class BoundedFinder {

    private final ReconcileJob job;
    private final ThreadFactory threads;
    // the call that has not ended; written by the caller of find, one at a time; read by any thread
    private volatile @Nullable Call open;

    /** A call of the finder. Its thread may still run for a moment after the finder has returned. */
    private record Call(Thread thread, FutureTask<Found> result) {}

    BoundedFinder(ReconcileJob job, ThreadFactory threads) {
        this.job = job;
        this.threads = threads;
    }

    Found find(FactSearch search) throws Exception {
        Call before = open;
        if (before != null && !before.result.isDone()) {
            throw new OutboxException(
                    "The finder of job " + job.name() + " still hangs in thread " + before.thread.getName()
                            + ", so it is not asked again. Let it react to interrupts, and limit its queries.",
                    null);
        }
        FutureTask<Found> question = new FutureTask<>(() -> job.finder().find(search));
        Thread asked = threads.newThread(question);
        open = new Call(asked, question);
        try {
            asked.start();
        } catch (Error e) {
            open = null; // there is no thread that could end the call
            throw e;
        }
        try {
            Found found = question.get(job.timeLimit().toNanos(), TimeUnit.NANOSECONDS);
            if (found == null) {
                throw new IllegalStateException("The finder of job " + job.name() + " answered null");
            }
            return search.check(found);
        } catch (TimeoutException e) {
            asked.interrupt();
            throw new OutboxException(
                    "The finder of job " + job.name() + " did not answer within " + job.timeLimit()
                            + " and was interrupted",
                    e);
        } catch (ExecutionException e) {
            throw unwrapped(e);
        } catch (InterruptedException e) {
            asked.interrupt();
            throw e;
        } finally {
            if (question.isDone()) {
                open = null;
            }
        }
    }

    /** An interrupt of the finder's thread is a failure of the finder, not an interrupt of the run. */
    private Exception unwrapped(ExecutionException e) {
        Throwable cause = e.getCause();
        if (cause instanceof Error error) {
            throw error;
        }
        if (cause instanceof Exception failure && !(cause instanceof InterruptedException)) {
            return failure;
        }
        return new OutboxException("The finder of job " + job.name() + " was interrupted", cause);
    }

    void interrupt() {
        Call call = open;
        if (call != null) {
            call.thread.interrupt();
        }
    }
}
