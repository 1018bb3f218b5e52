package outbox.testing;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What MySQL and MariaDB share: the options of the server and the way to stop it. */
abstract class MySqlFamilyProgram implements ServerProgram {
    /** As for PostgreSQL: a commit reaches the system, so it survives the death of the server, but not the disk. */
    private static final List<String> OPTIONS = List.of(
            "--bind-address=127.0.0.1",
            "--socket=mysqld.sock", // relative to the data directory: an absolute path may be too long for a socket
            "--pid-file=mysqld.pid",
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-buffer-pool-size=64M",
            "--performance-schema=OFF",
            "--max-connections=200");

    /** The command that starts the server program on this data, without further options. */
    abstract ProcessBuilder server(Path data);

    @Override
    public ProcessBuilder command(Path data, int port, Map<String, String> settings) {
        var builder = server(data);
        var command = builder.command();
        command.addAll(OPTIONS);
        command.add("--tmpdir=" + data); // a server that starts deletes the temporary tables that it finds there
        settings.forEach((name, value) -> command.add("--%s=%s".formatted(name, value)));
        command.add("--port=" + port);
        return builder.directory(data.toFile());
    }

    @Override
    public String readyText() {
        return "ready for connections";
    }

    /** A kill: it leaves nothing outside of the data directory, and an orderly end takes seconds. */
    @Override
    public void stop(ProcessHandle server) {
        server.destroyForcibly();
    }

    static List<String> serverCommand(Installation installation, String program, Path data) {
        var command = new ArrayList<>(List.of(
                installation.file(program),
                "--no-defaults", // must come first
                "--basedir=" + installation.home(),
                "--datadir=" + data,
                "--lc-messages-dir=" + installation.file("share")));
        if (LinuxUser.isRoot()) {
            command.add("--user=root"); // otherwise it refuses to run as root
        }
        return command;
    }
}
