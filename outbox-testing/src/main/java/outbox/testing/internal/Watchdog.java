package outbox.testing.internal;

import java.nio.file.Path;

/**
 * Kills a child process if this JVM ends without running its shutdown hooks, through SIGKILL or a halt, as in
 * crash tests. The watchdog is a shell that waits on a pipe. When the JVM ends, the pipe closes and the shell
 * kills the process.
 */
public final class Watchdog {
    private static final String SCRIPT = """
            trap '' INT TERM HUP
            read -r line
            kill -KILL "$1" $(cat /proc/"$1"/task/*/children) 2>/dev/null
            [ -z "$2" ] || rm -rf -- "$2"
            """;

    private Watchdog() {}

    /** Watches a process and its children until the process ends. */
    public static void over(Process process) {
        start(process, "");
    }

    /**
     * Watches a process and its children until the process ends. If it kills them, it also deletes their directory.
     */
    public static void over(Process process, Path directory) {
        start(process, directory.toString());
    }

    private static void start(Process process, String directory) {
        var command = new ProcessBuilder("sh", "-c", SCRIPT, "watchdog", Long.toString(process.pid()), directory)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        Process shell = Command.start(command);
        // otherwise the shell might kill another process that gets the same id
        process.onExit().thenRun(shell::destroyForcibly);
    }
}
