package outbox.testing.fault;

import outbox.testing.internal.Command;
import outbox.testing.internal.ExcludedTags;
import outbox.testing.internal.Interrupted;
import outbox.testing.internal.ProcessOutput;
import outbox.testing.internal.ProcessTree;
import outbox.testing.internal.Watchdog;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A JVM that runs a test main class in a separate process, for tests that kill, freeze or signal it.
 *
 * <p>The child has the class path of this JVM and a small heap. Standard error is merged into standard output, and
 * the latest ten thousand lines are kept. Every wait has a time limit. If a wait fails, the error message contains
 * the lines that the child printed. {@link #close()} kills the child; it also dies when this JVM ends, even if this
 * JVM is killed.
 *
 * <p>Any thread may call any method.
 */
public final class ChildJvm implements AutoCloseable {
    private static final Duration KILL_LIMIT = Duration.ofSeconds(20);
    // a process closes its output shortly before it ends
    private static final Duration OUTPUT_LEAD = Duration.ofMillis(500);

    private final String name;
    private final Process process;
    private final ProcessTree tree;
    private final ProcessOutput output;

    private ChildJvm(String name, ProcessBuilder command) {
        this.name = name;
        process = Command.start(command.redirectErrorStream(true));
        tree = new ProcessTree(process);
        output = new ProcessOutput(process, name);
        Watchdog.over(process);
    }

    /** Starts the main class with a small heap and these arguments. */
    public static ChildJvm start(Class<?> main, String... arguments) {
        return of(main).arguments(arguments).start();
    }

    /** Returns a builder for a child that runs this main class. */
    public static Builder of(Class<?> main) {
        return new Builder(main);
    }

    /** Returns the process id of the child. */
    public long pid() {
        return process.pid();
    }

    /** Returns whether the child is alive. A frozen child is alive. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /**
     * Waits for a line that contains the text and returns it. The search starts after the line that the previous
     * call returned, so a test can wait repeatedly for a text that is printed repeatedly.
     *
     * @throws AssertionError if the time limit passes or the child ends before it prints the text
     */
    public String awaitLine(String text, Duration limit) {
        try {
            return output.await(text, limit)
                    .orElseThrow(() -> failure("did not print \"%s\" within %s".formatted(text, limit)));
        } catch (InterruptedException e) {
            throw Interrupted.during("waiting for a line of " + name, e);
        }
    }

    /** Returns the latest lines that the child has printed so far, oldest first. */
    public List<String> lines() {
        return output.lines();
    }

    /**
     * Waits until the child ends and returns its exit code. After a signal, the code is 128 plus the signal number.
     * All output of the child can be read afterwards.
     *
     * @throws AssertionError if the child still runs when the time limit passes
     */
    public int waitFor(Duration limit) {
        try {
            if (!process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                throw failure("did not end within " + limit);
            }
            // bounded: a process that the child started may keep the output open
            output.awaitEnd(limit);
            return process.exitValue();
        } catch (InterruptedException e) {
            throw Interrupted.during("waiting for the end of " + name, e);
        }
    }

    /** Kills the child with SIGKILL, frozen or not, and waits until it has ended. */
    public void kill() {
        process.toHandle().destroyForcibly(); // Process.destroyForcibly would discard its unread output
        waitFor(KILL_LIMIT);
    }

    /** Sends SIGTERM to the child, which runs its shutdown hooks. Does not wait; see {@link #waitFor(Duration)}. */
    public void terminate() {
        process.toHandle().destroy(); // Process.destroy would discard its unread output
    }

    /** Freezes the child with SIGSTOP. To others this looks like a long GC pause or a paused machine. */
    public void freeze() {
        tree.freeze();
    }

    /** Resumes a frozen child. */
    public void resume() {
        tree.resume();
    }

    /** Kills the child if it still runs. */
    @Override
    public void close() {
        kill();
    }

    private AssertionError failure(String what) {
        var state = tree.awaitEnd(OUTPUT_LEAD) ? "ended with code " + process.exitValue() : "still runs";
        return new AssertionError("%s %s; it %s and printed:%n%s".formatted(name, what, state, output.text()));
    }

    /** The settings of a child. */
    public static final class Builder {
        private final Class<?> main;
        private List<String> jvmOptions = List.of("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");
        private String classPath = System.getProperty("java.class.path");
        private List<String> arguments = List.of();

        private Builder(Class<?> main) {
            this.main = main;
        }

        /** Sets the arguments of the main method. Default: none. */
        public Builder arguments(String... values) {
            arguments = List.of(values);
            return this;
        }

        /** Replaces the JVM options. Default: {@code -Xmx96m -XX:+UseSerialGC -XX:TieredStopAtLevel=1}. */
        public Builder jvmOptions(String... values) {
            jvmOptions = List.of(values);
            return this;
        }

        /** Replaces the class path. Default: the class path of this JVM. */
        public Builder classPath(String value) {
            classPath = value;
            return this;
        }

        /** Starts the child. */
        public ChildJvm start() {
            ExcludedTags.check("process");
            var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
            // C1 only: the JVM starts faster
            var command = new ArrayList<>(List.of(java, "-XX:TieredStopAtLevel=1", "-cp", classPath));
            command.addAll(jvmOptions);
            command.add(main.getName());
            command.addAll(arguments);
            return new ChildJvm(main.getSimpleName(), new ProcessBuilder(command));
        }
    }
}
