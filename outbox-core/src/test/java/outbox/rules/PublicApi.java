package outbox.rules;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import org.junit.jupiter.api.Test;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Compares the section of a module in {@code docs/api.md} with its compiled classes, in both directions. A section
 * has a table for each package, or names its types in text.
 */
public abstract class PublicApi {

    private static final Pattern PATH = Pattern.compile(Pattern.quote(File.pathSeparator));
    private static final Pattern NESTED = Pattern.compile("\\$");
    private static final Pattern ROW = Pattern.compile("^\\| `([A-Za-z0-9]+)` \\|.*");
    private static final Pattern PACKAGE = Pattern.compile("^### `(outbox[a-z0-9.]*)`.*");
    private static final Pattern NAME = Pattern.compile("`@?([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)`");

    private final List<String> section =
            section(Path.of("").toAbsolutePath().getFileName().toString());

    @Test
    void every_public_type_is_on_the_page_of_the_api() {
        if (hasTables()) {
            assertThat(rows()).containsAll(publicTypes().map(JavaClass::getName).toList());
        } else {
            assertThat(names())
                    .containsAll(publicTypes().map(JavaClass::getSimpleName).toList());
        }
    }

    @Test
    void every_type_on_the_page_of_the_api_exists() throws IOException {
        if (hasTables()) {
            assertThat(publicTypes().map(JavaClass::getName)).containsAll(rows());
        } else {
            assertThat(typesOnTheClassPath()).containsAll(names());
        }
    }

    /** Returns the public top-level types of the module that are not in an internal package. */
    public static Stream<JavaClass> publicTypes() {
        return ModuleStructure.CLASSES.stream()
                .filter(type -> type.isTopLevelClass() && type.getModifiers().contains(JavaModifier.PUBLIC))
                .filter(type -> !(type.getPackageName() + ".").contains(".internal."));
    }

    private boolean hasTables() {
        return section.stream().anyMatch(line -> PACKAGE.matcher(line).matches());
    }

    private Set<String> rows() {
        Set<String> types = new TreeSet<>();
        String current = "";
        for (String line : section) {
            var heading = PACKAGE.matcher(line);
            var row = ROW.matcher(line);
            if (heading.matches()) {
                current = heading.group(1);
            } else if (row.matches()) {
                types.add(current + "." + row.group(1));
            }
        }
        return types;
    }

    private Set<String> names() {
        return section.stream()
                .flatMap(line -> NAME.matcher(line).results())
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * Returns the lines below the headings of the module. It may have several headings, such
     * as {@code outbox-spring-boot: monitoring}.
     */
    private static List<String> section(String module) {
        try {
            var lines = Files.readAllLines(Path.of("..", "docs", "api.md"));
            boolean[] inside = {false};
            return lines.stream()
                    .filter(line -> {
                        if (line.startsWith("## ")) {
                            inside[0] = line.equals("## " + module) || line.startsWith("## " + module + ":");
                        }
                        return inside[0];
                    })
                    .toList();
        } catch (IOException e) {
            throw new IllegalStateException("Cannot read docs/api.md", e);
        }
    }

    /**
     * Returns the simple names of the classes of all our modules that this module uses, including nested classes.
     */
    private static Set<String> typesOnTheClassPath() throws IOException {
        Set<String> names = new TreeSet<>();
        for (Path path : PATH.splitAsStream(System.getProperty("java.class.path"))
                .map(Path::of)
                .toList()) {
            if (Files.isDirectory(path)) {
                collect(path, names);
            } else if (path.getFileName().toString().startsWith("outbox-")) {
                try (var jar = FileSystems.newFileSystem(path)) {
                    collect(jar.getPath("/"), names);
                }
            }
        }
        return names;
    }

    private static void collect(Path root, Set<String> names) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            files.map(file -> String.valueOf(file.getFileName()))
                    .filter(file -> file.endsWith(".class"))
                    .flatMap(file -> NESTED.splitAsStream(file.substring(0, file.length() - 6)))
                    .forEach(names::add);
        }
    }
}
