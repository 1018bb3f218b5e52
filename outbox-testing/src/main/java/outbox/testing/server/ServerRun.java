package outbox.testing.server;

import outbox.testing.internal.Command;
import outbox.testing.internal.ExcludedTags;
import outbox.testing.internal.Interrupted;
import outbox.testing.internal.ProcessOutput;
import outbox.testing.internal.ProcessTree;
import outbox.testing.internal.Watchdog;

import java.nio.file.Path;
import java.time.Duration;

/** One run of a server process, from start to end. */
final class ServerRun {
    // ends the wait for a server that hangs; on a machine with nine threads per core RabbitMQ needed a minute
    private static final Duration START_LIMIT = Duration.ofMinutes(3);
    private static final Duration STOP_LIMIT = Duration.ofSeconds(10);
    // a process closes its output shortly before it ends
    private static final Duration OUTPUT_LEAD = Duration.ofMillis(500);

    private final RunnableServer program;
    private final Process process;
    private final ProcessTree tree;

    /** Starts the program and waits until it is ready. The directory is deleted if this JVM is killed. */
    ServerRun(RunnableServer program, ProcessBuilder command, Path directory) {
        this.program = program;
        ExcludedTags.check(program.id());
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

    /** Asks the process to end in the way that suits its program, and kills it if it does not. */
    void stop() {
        stop(STOP_LIMIT);
    }

    void stop(Duration limit) {
        if (process.isAlive()) {
            resume(); // a frozen process would not react to the request
            program.stop(process.toHandle());
            tree.awaitEnd(limit);
        }
        kill();
    }
}
