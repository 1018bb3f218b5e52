package outbox.testing;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URISyntaxException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** A jar on the class path that carries the program of a server. */
record Archive(Path jar) {
    interface Decompressor {
        InputStream decompress(InputStream compressed) throws IOException;
    }

    /** Finds the jar on the class path that holds this entry. */
    static Optional<Archive> with(String entry) {
        var url = Archive.class.getClassLoader().getResource(entry);
        if (url == null) {
            return Optional.empty();
        }
        try {
            var jar = ((JarURLConnection) url.openConnection()).getJarFileURL();
            return Optional.of(new Archive(Path.of(jar.toURI())));
        } catch (IOException | URISyntaxException e) {
            throw new IllegalStateException("Cannot locate the jar of " + url, e);
        }
    }

    /** The name of the jar, which holds the version of what is in it. */
    String name() {
        return jar.getFileName().toString().replaceFirst("\\.jar$", "");
    }

    /** Unpacks a tar file that lies in the jar, by the system's tar: the JDK has none. */
    void unpackTar(String entry, Decompressor decompressor, Path to) throws IOException {
        Process tar = new ProcessBuilder("tar", "-x", "--no-same-owner", "-f", "-", "-C", to.toString()).start();
        try (var jarFiles = FileSystems.newFileSystem(jar);
                var content = decompressor.decompress(Files.newInputStream(jarFiles.getPath(entry)));
                var input = tar.getOutputStream()) {
            content.transferTo(input);
        }
        Command.finish(tar, "tar").orThrow();
    }

    /** Copies the one directory of the jar that is a child of the parent, whatever its name, and holds this path. */
    void unpackChild(String parent, String path, Path to) throws IOException {
        try (var jarFiles = FileSystems.newFileSystem(jar);
                var children = Files.newDirectoryStream(jarFiles.getPath(parent))) {
            FileTree.copy(children.iterator().next().resolve(path), to);
        }
    }
}
