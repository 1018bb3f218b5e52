package outbox.testing.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * Directories that take seconds to create (unpacked programs, initialised data). They are created once per user and
 * shared by all test JVMs.
 *
 * <p>A directory is created under another name and then renamed, so an existing directory is always complete. A file
 * lock prevents two JVMs from creating the same directory. The system releases the lock when its JVM ends, even if
 * it is killed. Every creation has a time limit.
 */
final class ServerCache {
    /** The system property that sets another directory for the cache. */
    static final String LOCATION = "outbox.servers.cache";

    interface Maker {
        void fill(Path empty) throws IOException;
    }

    private ServerCache() {}

    /** Returns the directory with this name. If it does not exist, the maker fills it first. */
    static synchronized Path directory(String name, Maker maker) {
        try {
            var root = root();
            var directory = root.resolve(name);
            if (!Files.isDirectory(directory)) {
                make(directory, root.resolve(name + ".partial"), root.resolve(name + ".lock"), maker);
            }
            return directory;
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot prepare " + name + " in the cache of test servers", e);
        }
    }

    private static void make(Path directory, Path partial, Path lock, Maker maker) throws IOException {
        try (var channel = FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.lock(); // released when the channel is closed
            if (Files.isDirectory(directory)) {
                return; // another JVM created it in the meantime
            }
            FileTree.delete(partial); // left by a JVM that was killed
            Files.createDirectories(partial);
            maker.fill(partial);
            Files.move(partial, directory, StandardCopyOption.ATOMIC_MOVE);
        }
    }

    private static Path root() throws IOException {
        var root = Files.createDirectories(location());
        if (!LinuxUser.owns(root)) {
            throw new IOException(root + " belongs to another user, whose programs must not be run. Set -D" + LOCATION);
        }
        return root;
    }

    private static Path location() {
        var given = System.getProperty(LOCATION);
        if (given != null) {
            return Path.of(given);
        }
        // The user that runs PostgreSQL may not have access to the home directory of root, and users in containers
        // may have no home directory.
        var home = Path.of(System.getProperty("user.home"));
        return LinuxUser.isRoot() || !home.isAbsolute() || !Files.isWritable(home)
                ? Path.of(System.getProperty("java.io.tmpdir"), "outbox-test-servers-" + LinuxUser.uid())
                : home.resolve(".cache").resolve("outbox-test-servers");
    }
}
