package outbox.testing.server;

import java.nio.file.Path;
import java.util.Map;

/** The steps to install, initialise and run one database product on this machine. */
interface ServerProgram extends RunnableServer {
    Product product();

    /** Creates an initialised data directory below the given directory and returns it. */
    Path createData(Path below);

    /** Returns the command that runs the server in the foreground. The server logs to standard output or error. */
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
