package outbox.testing.server;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The options and the stop procedure that MySQL and MariaDB have in common. */
abstract class MySqlFamilyProgram implements ServerProgram {
    /**
     * As for PostgreSQL, a commit is written to the operating system but not flushed to disk. It survives a crash of
     * the server, but not of the machine.
     */
    private static final List<String> OPTIONS = List.of(
            "--bind-address=127.0.0.1",
            // relative to the data directory, because an absolute path may be too long for a socket
            "--socket=mysqld.sock",
            "--pid-file=mysqld.pid",
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-flush-method=nosync",
            "--innodb-buffer-pool-size=64M",
            "--performance-schema=OFF",
            "--max-connections=200");

    /** Returns the command that starts the server with this data directory, without further options. */
    abstract ProcessBuilder server(Path data);

    @Override
    public ProcessBuilder command(Path data, int port, Map<String, String> settings) {
        var builder = server(data);
        var command = builder.command();
        command.addAll(OPTIONS);
        // not a shared directory: at its start a server deletes the temporary tables that it finds there
        command.add("--tmpdir=" + data);
        settings.forEach((name, value) -> command.add("--%s=%s".formatted(name, value)));
        command.add("--port=" + port);
        return builder.directory(data.toFile());
    }

    @Override
    public String readyText() {
        return "ready for connections";
    }

    /** Kills the server: it leaves nothing outside its data directory, and a clean shutdown would take seconds. */
    @Override
    public void stop(ProcessHandle server) {
        server.destroyForcibly();
    }

    static List<String> serverCommand(Installation installation, String program, Path data) {
        var command = new ArrayList<>(List.of(
                installation.file(program),
                "--no-defaults", // must be the first option
                "--basedir=" + installation.home(),
                "--datadir=" + data,
                "--lc-messages-dir=" + installation.file("share")));
        if (LinuxUser.isRoot()) {
            command.add("--user=root"); // otherwise the server refuses to run as root
        }
        return command;
    }
}
