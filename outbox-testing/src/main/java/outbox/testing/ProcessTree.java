package outbox.testing;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A child process with its own children, treated as one. PostgreSQL is such a tree: to stop or kill only its first
 * process would leave the others at work.
 */
final class ProcessTree {
    private static final Duration COLLECT_LIMIT = Duration.ofSeconds(5);
    private static final Duration KILL_LIMIT = Duration.ofSeconds(20);

    private final Process root;

    ProcessTree(Process root) {
        this.root = root;
    }

    /** Stops every process where it stands; the root first, so that no new ones appear meanwhile. */
    void freeze() {
        if (!Signal.STOP.send(List.of(root.toHandle()))) {
            throw new IllegalStateException("Process " + root.pid() + " has ended and cannot be stopped");
        }
        Signal.STOP.send(root.descendants().toList()); // one of them may have ended by itself
    }

    void resume() {
        Signal.CONT.send(root.descendants().toList());
        Signal.CONT.send(List.of(root.toHandle()));
    }

    /**
     * Kills every process and returns when they are gone; does nothing if the root has ended.
     *
     * <p>The children go first, so that the root collects them. As orphans they would fall to process 1, and in many
     * containers that collects nothing: each kill would leave zombies for good.
     */
    void kill() {
        if (!root.isAlive()) {
            return;
        }
        var children = root.descendants().toList();
        children.forEach(ProcessHandle::destroyForcibly);
        Signal.CONT.send(List.of(root.toHandle())); // a frozen root collects nothing
        awaitCollected(children);
        var late = root.descendants().toList();
        root.toHandle().destroyForcibly();
        late.forEach(ProcessHandle::destroyForcibly);
        if (!awaitEnd(KILL_LIMIT)) {
            throw new IllegalStateException("Process " + root.pid() + " is still there after a kill");
        }
    }

    boolean awaitEnd(Duration limit) {
        try {
            return root.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            throw Interrupted.during("waiting for the end of process " + root.pid(), e);
        }
    }

    private void awaitCollected(List<ProcessHandle> children) {
        var ends = children.stream().map(ProcessHandle::onExit).toArray(CompletableFuture<?>[]::new);
        try {
            CompletableFuture.allOf(ends).get(COLLECT_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            // The root does not do its duty; it is killed next, and what it left is dead, if not collected.
        } catch (ExecutionException e) {
            throw new IllegalStateException("Cannot wait for the children of process " + root.pid(), e);
        } catch (InterruptedException e) {
            throw Interrupted.during("waiting for the children of process " + root.pid(), e);
        }
    }
}
