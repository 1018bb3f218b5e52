package outbox;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Every module logs through {@link outbox.internal.text.SafeLogger}, so that the data of an event cannot forge a line
 * of the log.
 */
class LogSourceTest {

    private static final Set<String> NOT_IN_PRODUCTION =
            Set.of("outbox-testing", "outbox-spring-boot-test", "benchmarks", "samples", "spring-boot-tests");

    @Test
    void nobody_gets_a_logger_from_elsewhere() throws IOException {
        assertThat(sources())
                .hasSizeGreaterThan(300)
                .filteredOn(LogSourceTest::getsItsOwnLogger)
                .extracting(source -> source.getFileName().toString())
                .containsExactly("SafeLogger.java");
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> modules = Files.list(Path.of(".."))) {
            return modules.filter(module ->
                            !NOT_IN_PRODUCTION.contains(module.getFileName().toString()))
                    .map(module -> module.resolve("src/main/java"))
                    .filter(Files::isDirectory)
                    .flatMap(LogSourceTest::javaFiles)
                    .toList();
        }
    }

    private static Stream<Path> javaFiles(Path directory) {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(file -> file.toString().endsWith(".java")).toList().stream();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static boolean getsItsOwnLogger(Path source) {
        try {
            String text = Files.readString(source);
            return Stream.of(
                            "System.getLogger(", "LoggerFactory.getLogger(", "LogFactory.getLog(", " Logger.getLogger(")
                    .anyMatch(text::contains);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
