package outbox.testing;

import java.nio.file.Path;
import java.util.Map;

/** How one product is installed, initialised and run on this machine. */
interface ServerProgram {
    Product product();

    /** Makes a fresh, initialised data directory below the given one and returns it. */
    Path createData(Path below);

    /** The command that runs the server in the foreground, printing its log to standard output or error. */
    ProcessBuilder command(Path data, int port, Map<String, String> settings);

    /** What the server prints once it takes connections. */
    String readyText();

    /** Tells a running server to go without waiting for its clients; whoever calls kills it if it does not. */
    void stop(ProcessHandle server);
}
