package outbox.testing.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A child process together with its descendants. PostgreSQL is such a tree: if only its first process is stopped or
 * killed, the others continue to run.
 */
public final class ProcessTree {
    private static final Set<String> STOPPED = Set.of("T", "t", "Z", "X"); // Z and X are processes that have ended
    private static final Duration STOP_LIMIT = Duration.ofSeconds(5);
    private static final Duration COLLECT_LIMIT = Duration.ofSeconds(5);
    private static final Duration KILL_LIMIT = Duration.ofSeconds(20);

    private final Process root;

    public ProcessTree(Process root) {
        this.root = root;
    }

    /** Freezes every process with SIGSTOP. The root is first, so that it starts no new processes meanwhile. */
    public void freeze() {
        if (!Signal.STOP.send(List.of(root.toHandle()))) {
            throw new IllegalStateException("Process " + root.pid() + " has ended and cannot be stopped");
        }
        Signal.STOP.send(root.descendants().toList()); // result ignored: one may have ended
        awaitStopped(root.pid());
        root.descendants().forEach(child -> awaitStopped(child.pid()));
    }

    /**
     * Waits until the process has stopped. The signal takes effect asynchronously in each thread, so a server may
     * respond once more after the signal was sent.
     */
    private static void awaitStopped(long pid) {
        long end = System.nanoTime() + STOP_LIMIT.toNanos();
        while (hasRunningThread(pid)) {
            if (System.nanoTime() - end > 0) {
                throw new IllegalStateException("Process " + pid + " was told to stop and still runs");
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** Returns false also if the process has ended, and on systems without /proc. */
    private static boolean hasRunningThread(long pid) {
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            return threads.anyMatch(thread -> !STOPPED.contains(state(thread.resolve("stat"))));
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the state letter. It follows the name of the thread, which is in parentheses. */
    private static String state(Path stat) {
        try {
            String text = Files.readString(stat);
            int at = text.lastIndexOf(')') + 2;
            return text.substring(at, at + 1);
        } catch (IOException e) {
            return "X"; // the thread has ended
        }
    }

    public void resume() {
        Signal.CONT.send(root.descendants().toList());
        Signal.CONT.send(List.of(root.toHandle()));
    }

    /**
     * Kills every process and waits until they have ended. Does nothing if the root has ended.
     *
     * <p>The children are killed first, so that the root reaps them. If the root dies first, process 1 becomes their
     * parent. In many containers process 1 reaps no children, and each kill would leave zombies.
     */
    public void kill() {
        if (!root.isAlive()) {
            return;
        }
        var children = root.descendants().toList();
        children.forEach(ProcessHandle::destroyForcibly);
        Signal.CONT.send(List.of(root.toHandle())); // a frozen root reaps no children
        awaitCollected(children);
        var late = root.descendants().toList();
        root.toHandle().destroyForcibly();
        late.forEach(ProcessHandle::destroyForcibly);
        if (!awaitEnd(KILL_LIMIT)) {
            throw new IllegalStateException("Process " + root.pid() + " is still there after a kill");
        }
    }

    public boolean awaitEnd(Duration limit) {
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
            // the root does not reap its children; it is killed next, and they stay behind as zombies
        } catch (ExecutionException e) {
            throw new IllegalStateException("Cannot wait for the children of process " + root.pid(), e);
        } catch (InterruptedException e) {
            throw Interrupted.during("waiting for the children of process " + root.pid(), e);
        }
    }
}
