package outbox.testing;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** The program of a server, unpacked from a jar on the class path and known to run on this machine. */
record Installation(Product product, Path home) {
    interface Unpacker {
        void unpack(Archive archive, Path to) throws IOException;
    }

    /** Unpacks the jar that holds the entry, unless the cache has it already. */
    static Installation of(Product product, String entry, String artifact, Unpacker unpacker) {
        var system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            throw Unavailable.because(
                    product, "the binaries are for Linux on amd64 and this is " + system, "Run the tests there");
        }
        var archive = Archive.with(entry)
                .orElseThrow(() -> Unavailable.because(
                        product,
                        entry + " is not on the class path",
                        "Add %s to your test class path".formatted(artifact)));
        return new Installation(
                product, ServerCache.directory(archive.name(), empty -> unpacker.unpack(archive, empty)));
    }

    /** A file of the installation. */
    String file(String path) {
        return home.resolve(path).toString();
    }

    /** Has the program print its version: one that cannot do even that lacks a library of the system. */
    void probe(ProcessBuilder printVersion, String remedy) {
        var command = Command.run(printVersion);
        if (!command.succeeded()) {
            throw Unavailable.because(product, command.output(), remedy);
        }
    }

    /** Copies initialised data below a directory; the original is made once for the same options, and kept. */
    Path copyData(Path below, List<String> initOptions, ServerCache.Maker initialise) {
        var name = "%s-data-%08x".formatted(home.getFileName(), initOptions.hashCode());
        var original = ServerCache.directory(name, initialise);
        var data = below.resolve("data");
        Command.run("cp", "-R", original.toString(), data.toString()).orThrow();
        return data;
    }
}
