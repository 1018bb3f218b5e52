package outbox.testing;

import java.nio.file.Path;
import java.time.Duration;

/** One life of a server process, from the start of its program to its end. */
final class ServerRun {
    private static final Duration START_LIMIT = Duration.ofSeconds(60);
    private static final Duration STOP_LIMIT = Duration.ofSeconds(10);

    private final ServerProgram program;
    private final Process process;
    private final ProcessTree tree;
    private final Watchdog watchdog;

    /** Starts the program; the directory goes with it should this JVM be killed. */
    ServerRun(ServerProgram program, ProcessBuilder command, Path directory) {
        this.program = program;
        process = Command.start(command.redirectErrorStream(true));
        tree = new ProcessTree(process);
        watchdog = Watchdog.over(process, directory);
        awaitReady(new ProcessOutput(process, program.product().id()));
    }

    private void awaitReady(ProcessOutput output) {
        try {
            if (output.await(program.readyText(), START_LIMIT).isPresent()) {
                return;
            }
        } catch (InterruptedException e) {
            kill();
            throw Interrupted.during("starting " + program.product().title(), e);
        }
        var state = process.isAlive() ? "was not ready within " + START_LIMIT : "ended during its start";
        kill();
        throw new IllegalStateException(
                "%s %s; it printed:%n%s".formatted(program.product().title(), state, output.text()));
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
        watchdog.close();
    }

    /** Ends the process in the way its program prefers, and by a kill if that does not help. */
    void stop() {
        if (process.isAlive()) {
            resume(); // a frozen process takes no wish
            program.stop(process.toHandle());
            tree.awaitEnd(STOP_LIMIT);
        }
        kill();
    }
}
