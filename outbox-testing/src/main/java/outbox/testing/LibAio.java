package outbox.testing;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The one library of the system that MySQL needs beyond the usual. Debian 13 and Ubuntu 24.04 ship it under a new name,
 * with the same interface on 64-bit machines; there the server finds it through a link of the old name.
 */
final class LibAio {
    /** The Debian packages that bring the libraries MySQL asks for. */
    static final String PACKAGES = "libaio1 libnuma1 (libaio1t64 libnuma1 on Debian 13, Ubuntu 24.04 and later)";

    private static final String OLD_NAME = "libaio.so.1";
    private static final String NEW_NAME = "libaio.so.1t64";
    private static final List<Path> DIRECTORIES =
            List.of(Path.of("/usr/lib/x86_64-linux-gnu"), Path.of("/lib/x86_64-linux-gnu"), Path.of("/usr/lib64"));

    private LibAio() {}

    /** Lets the command find the library if the system has it under its new name only. */
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
