package outbox.testing;

import java.nio.file.Path;
import java.time.Duration;

/** One life of a server process, from the start of its program to its end. */
final class ServerRun {
    private static final Duration START_LIMIT = Duration.ofSeconds(60);
    private static final Duration STOP_LIMIT = Duration.ofSeconds(10);
    private static final Duration OUTPUT_LEAD = Duration.ofMillis(500); // a process closes its output, then ends

    private final RunnableServer program;
    private final Process process;
    private final ProcessTree tree;

    /** Starts the program; the directory goes with it should this JVM be killed. */
    ServerRun(RunnableServer program, ProcessBuilder command, Path directory) {
        this.program = program;
        process = Command.start(command.redirectErrorStream(true));
        tree = new ProcessTree(process);
        Watchdog.over(process, directory);
        awaitReady(new ProcessOutput(process, program.id()));
    }

    private void awaitReady(ProcessOutput output) {
        try {
            if (output.await(program.readyText(), START_LIMIT).isPresent()) {
                return;
            }
        } catch (InterruptedException e) {
            kill();
            throw Interrupted.during("starting " + program.title(), e);
        }
        var state = tree.awaitEnd(OUTPUT_LEAD) ? "ended during its start" : "was not ready within " + START_LIMIT;
        kill();
        throw new IllegalStateException("%s %s; it printed:%n%s".formatted(program.title(), state, output.text()));
    }

    long pid() {
        return process.pid();
    }

    void freeze() {
        tree.freeze();
    }

    void resume() {
        tree.resume();
    }

    void kill() {
        tree.kill();
    }

    /** Ends the process in the way its program prefers, and by a kill if that does not help. */
    void stop() {
        stop(STOP_LIMIT);
    }

    void stop(Duration limit) {
        if (process.isAlive()) {
            resume(); // a frozen process takes no wish
            program.stop(process.toHandle());
            tree.awaitEnd(limit);
        }
        kill();
    }
}
