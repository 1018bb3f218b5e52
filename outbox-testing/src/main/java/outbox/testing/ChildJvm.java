package outbox.testing;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A JVM that runs a main class of the tests in a process of its own, for tests that kill, stop or signal it.
 *
 * <p>It has the class path of this JVM, a small heap, and its standard error joined to its standard output, of which
 * the latest ten thousand lines are kept. Every wait is bounded, and one that ends without what it waited for fails
 * with the lines that the child printed. The child is killed by {@link #close()}, and with this JVM however that ends.
 *
 * <p>Any thread may call any method.
 */
public final class ChildJvm implements AutoCloseable {
    private static final Duration KILL_LIMIT = Duration.ofSeconds(20);
    private static final Duration OUTPUT_LEAD = Duration.ofMillis(500); // a process closes its output, then ends

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

    /** Returns whether the child still runs, or is frozen. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /**
     * Waits for a line that contains the text and returns it. The search begins behind the line that the previous call
     * returned, so a text that is printed again and again can be awaited again and again.
     *
     * @throws AssertionError if the time is over, or the child ends without printing it
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
     * Waits for the end of the child and returns its exit code, which after a signal is 128 and the number of the
     * signal. All that it printed can be read then.
     *
     * @throws AssertionError if it still runs when the time is over
     */
    public int waitFor(Duration limit) {
        try {
            if (!process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                throw failure("did not end within " + limit);
            }
            output.awaitEnd(limit); // a process that the child started may keep it open
            return process.exitValue();
        } catch (InterruptedException e) {
            throw Interrupted.during("waiting for the end of " + name, e);
        }
    }

    /** Kills the child with SIGKILL, frozen or not, and returns when it is gone. */
    public void kill() {
        process.toHandle().destroyForcibly(); // the process's own method would drop what it has printed
        waitFor(KILL_LIMIT);
    }

    /** Asks the child to end by SIGTERM, which runs its shutdown hooks; see {@link #waitFor(Duration)}. */
    public void terminate() {
        process.toHandle().destroy(); // the process's own method would drop what it prints
    }

    /** Stops the child where it stands, as a long pause of its collector or its machine would. */
    public void freeze() {
        tree.freeze();
    }

    /** Lets a frozen child go on. */
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

    /** What a child is started with. */
    public static final class Builder {
        private final Class<?> main;
        private List<String> jvmOptions = List.of("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");
        private String classPath = System.getProperty("java.class.path");
        private List<String> arguments = List.of();

        private Builder(Class<?> main) {
            this.main = main;
        }

        /** Sets the arguments of the main method; none by default. */
        public Builder arguments(String... values) {
            arguments = List.of(values);
            return this;
        }

        /** Replaces the options of the JVM, which are {@code -Xmx96m -XX:+UseSerialGC -XX:TieredStopAtLevel=1}. */
        public Builder jvmOptions(String... values) {
            jvmOptions = List.of(values);
            return this;
        }

        /** Replaces the class path, which is that of this JVM. */
        public Builder classPath(String value) {
            classPath = value;
            return this;
        }

        /** Starts the child. */
        public ChildJvm start() {
            var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
            var command = new ArrayList<>(List.of(java, "-XX:TieredStopAtLevel=1", "-cp", classPath)); // starts sooner
            command.addAll(jvmOptions);
            command.add(main.getName());
            command.addAll(arguments);
            return new ChildJvm(main.getSimpleName(), new ProcessBuilder(command));
        }
    }
}
