package outbox.testing.server;

import outbox.testing.internal.Command;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URISyntaxException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** A jar on the class path that contains the program of a server. */
record Archive(Path jar) {
    interface Decompressor {
        InputStream decompress(InputStream compressed) throws IOException;
    }

    /** Finds the jar on the class path that contains this entry. */
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

    /** Returns the name of the jar without its suffix. It contains the version of the program. */
    String name() {
        return jar.getFileName().toString().replaceFirst("\\.jar$", "");
    }

    /** Unpacks a tar file in the jar with the {@code tar} command, because the JDK cannot read tar files. */
    void unpackTar(String entry, Decompressor decompressor, Path to) throws IOException {
        Process tar = new ProcessBuilder("tar", "-x", "--no-same-owner", "-f", "-", "-C", to.toString()).start();
        try (var jarFiles = FileSystems.newFileSystem(jar);
                var content = decompressor.decompress(Files.newInputStream(jarFiles.getPath(entry)));
                var input = tar.getOutputStream()) {
            content.transferTo(input);
        }
        Command.finish(tar, "tar").orThrow();
    }

    /** Copies {@code parent/x/path} from the jar, where {@code x} is the only child of the parent directory. */
    void unpackChild(String parent, String path, Path to) throws IOException {
        try (var jarFiles = FileSystems.newFileSystem(jar);
                var children = Files.newDirectoryStream(jarFiles.getPath(parent))) {
            FileTree.copy(children.iterator().next().resolve(path), to);
        }
    }
}
