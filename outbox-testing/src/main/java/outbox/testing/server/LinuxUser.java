package outbox.testing.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The user that runs the tests, identified by number, because a container may have no user names. */
final class LinuxUser {
    private static final Path SELF = Path.of("/proc/self");

    private LinuxUser() {}

    static boolean isRoot() {
        return uid() == 0;
    }

    static boolean owns(Path file) {
        return uid(file) == uid();
    }

    static int uid() {
        return uid(SELF);
    }

    private static int uid(Path file) {
        try {
            return (Integer) Files.getAttribute(file, "unix:uid");
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot tell the owner of " + file, e);
        }
    }
}
