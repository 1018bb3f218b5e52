package outbox.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * Directories that take seconds to make (unpacked programs, initialised data), made once per user and shared by all
 * test JVMs.
 *
 * <p>A directory is made under another name and then renamed, so one that exists is whole. A lock on a file keeps two
 * JVMs from making the same one; the system drops it with its holder, however that ends, and makers are bounded.
 */
final class ServerCache {
    /** Names another place for the cache. */
    static final String LOCATION = "outbox.servers.cache";

    interface Maker {
        void fill(Path empty) throws IOException;
    }

    private ServerCache() {}

    /** Returns the directory of this name and lets the maker fill it if it does not exist. */
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
            channel.lock(); // until the channel is closed
            if (Files.isDirectory(directory)) {
                return; // another JVM made it while this one waited
            }
            FileTree.delete(partial); // what a killed JVM may have left
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
        // Root's home is closed to the ordinary user that PostgreSQL may run as; users of containers may have none.
        var home = Path.of(System.getProperty("user.home"));
        return LinuxUser.isRoot() || !home.isAbsolute() || !Files.isWritable(home)
                ? Path.of(System.getProperty("java.io.tmpdir"), "outbox-test-servers-" + LinuxUser.uid())
                : home.resolve(".cache").resolve("outbox-test-servers");
    }
}
