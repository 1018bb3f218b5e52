package outbox.testing;

import java.nio.file.Path;

/**
 * Kills a child process when this JVM ends in a way that runs no shutdown hooks: by a kill or a halt, which is what
 * crash tests do. It is a shell that waits on a pipe; when the JVM is gone the pipe closes and the shell acts.
 */
final class Watchdog implements AutoCloseable {
    private static final String SCRIPT = """
            trap '' INT TERM HUP
            read -r line
            kill -KILL "$1" $(cat /proc/"$1"/task/*/children) 2>/dev/null
            [ -z "$2" ] || rm -rf -- "$2"
            """;

    private final Process shell;

    private Watchdog(Process shell) {
        this.shell = shell;
    }

    /** Watches over a process and its children. */
    static Watchdog over(Process process) {
        return start(process, "");
    }

    /** Watches over a process and its children, and deletes their directory after them. */
    static Watchdog over(Process process, Path directory) {
        return start(process, directory.toString());
    }

    private static Watchdog start(Process process, String directory) {
        var command = new ProcessBuilder("sh", "-c", SCRIPT, "watchdog", Long.toString(process.pid()), directory);
        command.redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD);
        return new Watchdog(Command.start(command));
    }

    /** Calls it off: the process has ended, and its number may soon be that of another. */
    @Override
    public void close() {
        shell.destroyForcibly();
    }
}
