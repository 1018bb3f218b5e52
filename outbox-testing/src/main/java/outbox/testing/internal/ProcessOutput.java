package outbox.testing.internal;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The output lines of a child process. The latest lines are kept, and a caller can wait for a line. Threads: one
 * daemon thread reads until the process closes its output, so the child never blocks on a full pipe. Any thread may
 * call the methods.
 */
public final class ProcessOutput {
    private static final Logger LOG = System.getLogger(ProcessOutput.class.getName());
    private static final int KEPT = 10_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<String> kept = new ArrayDeque<>(); // guarded by lock
    private final Deque<String> unread = new ArrayDeque<>(); // guarded by lock; lines that no await has examined
    private boolean ended; // guarded by lock

    public ProcessOutput(Process process, String name) {
        var reader = new Thread(() -> read(process.inputReader(StandardCharsets.UTF_8)), "outbox-" + name + "-output");
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Waits for a line that contains the text. The search starts after the line that the last call returned. Returns
     * empty if the time limit passes or the output ends first.
     */
    public Optional<String> await(String text, Duration limit) throws InterruptedException {
        long nanos = limit.toNanos();
        lock.lockInterruptibly();
        try {
            while (true) {
                while (!unread.isEmpty()) {
                    var line = unread.remove();
                    if (line.contains(text)) {
                        return Optional.of(line);
                    }
                }
                if (ended || nanos <= 0) {
                    return Optional.empty();
                }
                nanos = changed.awaitNanos(nanos);
            }
        } finally {
            lock.unlock();
        }
    }

    public boolean awaitEnd(Duration limit) throws InterruptedException {
        long nanos = limit.toNanos();
        lock.lockInterruptibly();
        try {
            while (!ended && nanos > 0) {
                nanos = changed.awaitNanos(nanos);
            }
            return ended;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the latest lines, oldest first. */
    public List<String> lines() {
        lock.lock();
        try {
            return List.copyOf(kept);
        } finally {
            lock.unlock();
        }
    }

    public String text() {
        return String.join(System.lineSeparator(), lines());
    }

    private void read(BufferedReader reader) {
        try (reader) {
            for (var line = reader.readLine(); line != null; line = reader.readLine()) {
                add(line);
            }
        } catch (IOException e) {
            // the JDK closes the stream when a process is destroyed; treat this like the end of the output
            LOG.log(Level.DEBUG, "Output of a child process was closed", e);
        } finally {
            end();
        }
    }

    private void add(String line) {
        lock.lock();
        try {
            addBounded(kept, line);
            addBounded(unread, line);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void end() {
        lock.lock();
        try {
            ended = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private static void addBounded(Deque<String> lines, String line) {
        if (lines.size() == KEPT) {
            lines.remove();
        }
        lines.add(line);
    }
}
