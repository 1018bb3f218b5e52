package outbox.testing.internal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The result of a short command that has ended. */
public record Command(String name, int exitCode, String output) {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    public static Command run(String... command) {
        return run(new ProcessBuilder(command));
    }

    public static Command run(ProcessBuilder builder) {
        var program = Path.of(builder.command().get(0)).getFileName().toString();
        return finish(start(builder.redirectErrorStream(true)), program);
    }

    /** Waits for at most one minute. A command that takes longer is killed, and the call fails. */
    public static Command finish(Process process, String name) {
        try {
            var output = new ProcessOutput(process, name);
            if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException("%s did not end within %s and was killed; it printed:%n%s"
                        .formatted(name, LIMIT, output.text()));
            }
            output.awaitEnd(LIMIT);
            return new Command(name, process.exitValue(), output.text());
        } catch (InterruptedException e) {
            throw Interrupted.during("waiting for " + name, e);
        } finally {
            process.destroyForcibly();
        }
    }

    public static Process start(ProcessBuilder builder) {
        try {
            return builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot run " + builder.command().get(0), e);
        }
    }

    public boolean succeeded() {
        return exitCode == 0;
    }

    public Command orThrow() {
        if (!succeeded()) {
            throw new IllegalStateException("%s ended with code %d; it printed:%n%s".formatted(name, exitCode, output));
        }
        return this;
    }
}
