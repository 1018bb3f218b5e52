package outbox.testing.server;

import outbox.testing.internal.Command;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** The program of a server, unpacked from a jar on the class path and tested on this machine. */
record Installation(Product product, Path home) {
    interface Unpacker {
        void unpack(Archive archive, Path to) throws IOException;
    }

    /** Unpacks the jar that contains the entry, unless it is in the cache. */
    static Installation of(Product product, String entry, String artifact, Unpacker unpacker) {
        var system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            throw product.unavailable(
                    "the binaries are for Linux on amd64 and this is " + system, "Run the tests there");
        }
        var archive = Archive.with(entry)
                .orElseThrow(() -> product.unavailable(
                        entry + " is not on the class path", "Add %s to your test class path".formatted(artifact)));
        return new Installation(
                product, ServerCache.directory(archive.name(), empty -> unpacker.unpack(archive, empty)));
    }

    /** Returns the path of a file of the installation. */
    String file(String path) {
        return home.resolve(path).toString();
    }

    /** Runs the program to print its version. If this fails, a system library is missing. */
    void probe(ProcessBuilder printVersion, String remedy) {
        var command = Command.run(printVersion);
        if (!command.succeeded()) {
            throw product.unavailable(command.output(), remedy);
        }
    }

    /**
     * Copies an initialised data directory below a directory. The original is created once per set of options
     * and cached.
     */
    Path copyData(Path below, List<String> initOptions, ServerCache.Maker initialise) {
        var name = "%s-data-%08x".formatted(home.getFileName(), initOptions.hashCode());
        var original = ServerCache.directory(name, initialise);
        var data = below.resolve("data");
        Command.run("cp", "-R", original.toString(), data.toString()).orThrow();
        return data;
    }
}
