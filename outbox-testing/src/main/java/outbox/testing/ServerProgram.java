package outbox.testing;

import java.nio.file.Path;
import java.util.Map;

/** How one database product is installed, initialised and run on this machine. */
interface ServerProgram extends RunnableServer {
    Product product();

    /** Makes a fresh, initialised data directory below the given one and returns it. */
    Path createData(Path below);

    /** The command that runs the server in the foreground, printing its log to standard output or error. */
    ProcessBuilder command(Path data, int port, Map<String, String> settings);

    @Override
    default String title() {
        return product().title();
    }

    @Override
    default String id() {
        return product().id();
    }
}
