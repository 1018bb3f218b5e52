package outbox.testing;

import java.nio.file.Path;

/**
 * Kills a child process when this JVM ends in a way that runs no shutdown hooks: by a kill or a halt, which is what
 * crash tests do. It is a shell that waits on a pipe; when the JVM is gone the pipe closes and the shell acts.
 */
final class Watchdog {
    private static final String SCRIPT = """
            trap '' INT TERM HUP
            read -r line
            kill -KILL "$1" $(cat /proc/"$1"/task/*/children) 2>/dev/null
            [ -z "$2" ] || rm -rf -- "$2"
            """;

    private Watchdog() {}

    /** Watches over a process and its children until it ends. */
    static void over(Process process) {
        start(process, "");
    }

    /** Watches over a process and its children until it ends, and deletes their directory after them. */
    static void over(Process process, Path directory) {
        start(process, directory.toString());
    }

    private static void start(Process process, String directory) {
        var command = new ProcessBuilder("sh", "-c", SCRIPT, "watchdog", Long.toString(process.pid()), directory)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        Process shell = Command.start(command);
        process.onExit().thenRun(shell::destroyForcibly); // the number of the process may soon be that of another
    }
}
