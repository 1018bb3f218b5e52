package outbox.testing.server;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A system library that MySQL needs and that many systems do not install by default. Debian 13 and Ubuntu 24.04
 * ship it under a new name, with the same interface on 64-bit machines. On these systems we create a link with the
 * old name.
 */
final class LibAio {
    /** The Debian packages that contain the libraries for MySQL. */
    static final String PACKAGES = "libaio1 libnuma1 (libaio1t64 libnuma1 on Debian 13, Ubuntu 24.04 and later)";

    private static final String OLD_NAME = "libaio.so.1";
    private static final String NEW_NAME = "libaio.so.1t64";
    private static final List<Path> DIRECTORIES =
            List.of(Path.of("/usr/lib/x86_64-linux-gnu"), Path.of("/lib/x86_64-linux-gnu"), Path.of("/usr/lib64"));

    private LibAio() {}

    /** Makes the library available to the command if the system has it only under its new name. */
    static void addTo(ProcessBuilder builder) {
        if (DIRECTORIES.stream().anyMatch(directory -> Files.exists(directory.resolve(OLD_NAME)))) {
            return;
        }
        DIRECTORIES.stream()
                .map(directory -> directory.resolve(NEW_NAME))
                .filter(Files::exists)
                .findFirst()
                .ifPresent(library -> builder.environment()
                        .merge("LD_LIBRARY_PATH", linkTo(library).toString(), (before, ours) -> ours + ":" + before));
    }

    private static Path linkTo(Path library) {
        return ServerCache.directory(
                "libaio-link", empty -> Files.createSymbolicLink(empty.resolve(OLD_NAME), library));
    }
}
