package outbox.testing.server;

import outbox.testing.internal.JdbcUrl;
import outbox.testing.internal.Loopback;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** A server that we started, with its own port and directory. Any thread may call any method. */
final class LocalServer implements ServerHost {
    private final ServerProgram program;
    private final Map<String, String> settings;
    private final int port = Loopback.freePort();
    private final Path directory;
    private final Path data;
    private ServerRun run; // guarded by this
    private boolean closed; // guarded by this

    private LocalServer(ServerProgram program, Map<String, String> settings, Path directory) {
        this.program = program;
        this.settings = Map.copyOf(settings);
        this.directory = directory;
        data = program.createData(directory);
        run = launch();
    }

    static LocalServer start(ServerProgram program, Map<String, String> settings) {
        var directory = createDirectory(program.product());
        try {
            return new LocalServer(program, settings, directory);
        } catch (RuntimeException | Error e) {
            delete(directory);
            throw e;
        }
    }

    Path data() {
        return data;
    }

    @Override
    public JdbcUrl url() {
        return program.product().localUrl(port);
    }

    @Override
    public synchronized long pid() {
        return run.pid();
    }

    @Override
    public synchronized void kill() {
        run.kill();
    }

    @Override
    public synchronized void restart() {
        if (closed) {
            throw new IllegalStateException(program.product().title() + " is closed and cannot be restarted");
        }
        run.kill();
        run = launch();
    }

    @Override
    public synchronized void freeze() {
        run.freeze();
    }

    @Override
    public synchronized void resume() {
        run.resume();
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            run.stop();
            delete(directory);
        }
    }

    private ServerRun launch() {
        return new ServerRun(program, program.command(data, port, settings), directory);
    }

    private static Path createDirectory(Product product) {
        try {
            return Files.createTempDirectory("outbox-" + product.id() + "-");
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot create a directory for " + product.title(), e);
        }
    }

    private static void delete(Path directory) {
        try {
            FileTree.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot delete the directory of a test server", e);
        }
    }
}
