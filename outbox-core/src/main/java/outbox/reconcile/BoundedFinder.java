package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks the finder of a job on a thread of its own, so that one that hangs holds nobody for longer than its time limit. It is interrupted then; while it does not react, it is not asked
 * again, so there is at most one such thread per job.
 */
final class BoundedFinder {

    private final ReconcileJob job;
    private final ThreadFactory threads;
    private volatile @Nullable Thread thread; // of the last question; written by who asks, one at a time

    BoundedFinder(ReconcileJob job, ThreadFactory threads) {
        this.job = job;
        this.threads = threads;
    }

    Found find(FactSearch search) throws Exception {
        Thread before = thread;
        if (before != null && before.isAlive() && !endsSoon(before)) {
            throw new OutboxException(
                    "The finder of job " + job.name() + " still hangs in thread " + before.getName()
                            + ", so it is not asked again. Let it react to interrupts, and limit its queries.",
                    null);
        }
        FutureTask<Found> question = new FutureTask<>(() -> job.finder().find(search));
        Thread asked = threads.newThread(question);
        thread = asked;
        asked.start();
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
        }
    }

    /** A thread that has answered is about to end. */
    private static boolean endsSoon(Thread thread) throws InterruptedException {
        thread.join(100);
        return !thread.isAlive();
    }

    /** An interrupt of the finder's thread is a failure of the finder, not one of the run's. */
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
        Thread asked = thread;
        if (asked != null) {
            asked.interrupt();
        }
    }
}
