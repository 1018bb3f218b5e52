package outbox.testing.server;

import outbox.testing.internal.Command;
import outbox.testing.internal.Loopback;
import outbox.testing.internal.ProcessOutput;
import outbox.testing.internal.Watchdog;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;

/** A RabbitMQ node that we started, with its own ports, names and directory. Any thread may call any method. */
final class RabbitNode implements AutoCloseable {
    private static final Duration SHUT_DOWN_LIMIT = Duration.ofSeconds(30);
    private static final int REQUEST_LIMIT_MILLIS = 20_000;
    private static final String CREDENTIALS =
            "Basic " + Base64.getEncoder().encodeToString("guest:guest".getBytes(StandardCharsets.UTF_8));

    private final RabbitProgram program;
    private final Path directory;
    // epmd, the name service of Erlang; the node would otherwise start one as a daemon that stays behind
    private final Process names;
    private ServerRun run; // guarded by this
    private boolean closed; // guarded by this

    private RabbitNode(RabbitProgram program, Path directory) {
        this.program = program;
        this.directory = directory;
        names = Command.start(program.nameService().redirectErrorStream(true));
        Watchdog.over(names);
        new ProcessOutput(names, "epmd");
        try {
            run = launch();
        } catch (RuntimeException | Error e) {
            names.destroyForcibly();
            throw e;
        }
    }

    static RabbitNode start() {
        RabbitProgram.requireInstalled();
        try {
            return in(Files.createTempDirectory("outbox-rabbitmq-"));
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot create the files of a RabbitMQ node", e);
        }
    }

    private static RabbitNode in(Path directory) throws IOException {
        try {
            return new RabbitNode(RabbitProgram.in(directory), directory);
        } catch (IOException | RuntimeException | Error e) {
            delete(directory);
            throw e;
        }
    }

    int port() {
        return program.port();
    }

    int managementPort() {
        return program.managementPort();
    }

    synchronized long pid() {
        return run.pid();
    }

    synchronized void kill() {
        run.kill();
    }

    synchronized void shutDown() {
        run.stop(SHUT_DOWN_LIMIT);
    }

    synchronized void restart() {
        if (closed) {
            throw new IllegalStateException("RabbitMQ is closed and cannot be restarted");
        }
        run.kill();
        run = launch();
    }

    synchronized void freeze() {
        run.freeze();
    }

    synchronized void resume() {
        run.resume();
    }

    String control(String... arguments) {
        return Command.run(program.control(arguments)).orThrow().output();
    }

    String management(String method, String path, String body) {
        try {
            var url = URI.create("http://%s:%d/api/%s".formatted(Loopback.HOST, program.managementPort(), path))
                    .toURL();
            var request = (HttpURLConnection) url.openConnection();
            request.setConnectTimeout(REQUEST_LIMIT_MILLIS);
            request.setReadTimeout(REQUEST_LIMIT_MILLIS);
            request.setRequestMethod(method);
            request.setRequestProperty("Authorization", CREDENTIALS);
            if (!body.isEmpty()) {
                request.setDoOutput(true);
                request.setRequestProperty("Content-Type", "application/json");
                request.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
            }
            try (var answer = request.getInputStream()) { // throws for an error status
                return new String(answer.readAllBytes(), StandardCharsets.UTF_8);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("RabbitMQ refused %s of /api/%s".formatted(method, path), e);
        }
    }

    /** Kills the node. A clean shutdown is not needed, because the data is deleted. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            run.kill();
            names.destroyForcibly();
            delete(directory);
        }
    }

    private ServerRun launch() {
        return new ServerRun(program, program.server(), directory);
    }

    private static void delete(Path directory) {
        try {
            FileTree.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot delete the directory of a RabbitMQ node", e);
        }
    }
}
