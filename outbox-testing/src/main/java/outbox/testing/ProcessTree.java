package outbox.testing;

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
 * A child process with its own children, treated as one. PostgreSQL is such a tree: to stop or kill only its first
 * process would leave the others at work.
 */
final class ProcessTree {
    private static final Set<String> STOPPED = Set.of("T", "t", "Z", "X"); // the last two have ended
    private static final Duration STOP_LIMIT = Duration.ofSeconds(5);
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
        awaitStopped(root.pid());
        root.descendants().forEach(child -> awaitStopped(child.pid()));
    }

    /** The signal is sent, but each thread stops when it comes to see it; until then a server may answer once more. */
    private static void awaitStopped(long pid) {
        long end = System.nanoTime() + STOP_LIMIT.toNanos();
        while (hasRunningThread(pid)) {
            if (System.nanoTime() - end > 0) {
                throw new IllegalStateException("Process " + pid + " was told to stop and still runs");
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** False also for a process that has ended, and where there is no /proc to ask. */
    private static boolean hasRunningThread(long pid) {
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            return threads.anyMatch(thread -> !STOPPED.contains(state(thread.resolve("stat"))));
        } catch (IOException e) {
            return false;
        }
    }

    /** The letter behind the name of the thread, which is in parentheses. */
    private static String state(Path stat) {
        try {
            String text = Files.readString(stat);
            int at = text.lastIndexOf(')') + 2;
            return text.substring(at, at + 1);
        } catch (IOException e) {
            return "X"; // it ended meanwhile
        }
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
