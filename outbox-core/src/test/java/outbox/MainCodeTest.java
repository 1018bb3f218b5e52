package outbox;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/** Limits for the main code of all library modules. The exceptions are in docs/reference/architecture.md. */
class MainCodeTest {

    private static final Path ROOT = Path.of("..");
    private static final int LONGEST_CLASS = 450;
    private static final int LONGEST_COPY = 15;

    private static final Pattern ANNOTATION = Pattern.compile("@(?!interface)[\\w.]+(\\(.*)?");

    private static final Set<String> LONG = Set.of(
            "EventEnvelope", // the specification puts its builder into it
            "OutboxWriter"); // the specification puts all ways to write into one class

    private static final Set<String> COPIES = Set.of(
            "OutboxEvent ~ OutboxEvent", // constructors of the specification and for all columns
            "PauseRequest ~ ReconcileRequest"); // a common builder would be one more exported type

    /** A line that counts: not blank, no import, comment or annotation. */
    private record Line(int number, String text) {}

    private record Place(String name, String line) {}

    private static final Map<String, List<String>> FILES = new TreeMap<>(); // by path

    @BeforeAll
    static void read() throws IOException {
        try (Stream<Path> modules = Files.list(ROOT)) {
            for (Path module : modules.toList()) {
                Path code = module.resolve("src/main/java");
                if (module.getFileName().toString().startsWith("outbox-") && Files.isDirectory(code)) {
                    add(code);
                }
            }
        }
        assertThat(FILES).as("files that were read").hasSizeGreaterThan(300);
    }

    private static void add(Path directory) throws IOException {
        try (Stream<Path> below = Files.walk(directory)) {
            for (Path file :
                    below.filter(path -> path.toString().endsWith(".java")).toList()) {
                FILES.put(ROOT.relativize(file).toString().replace('\\', '/'), Files.readAllLines(file));
            }
        }
    }

    @Test
    void no_class_is_longer_than_450_lines() {
        Set<String> tooLong = new TreeSet<>();
        FILES.forEach((file, lines) -> {
            if (lines.stream().filter(line -> !isHeader(line)).count() > LONGEST_CLASS) {
                tooLong.add(name(file));
            }
        });

        assertThat(tooLong).isSubsetOf(LONG);
    }

    @Test
    void no_run_of_more_than_15_equal_lines_stands_twice() {
        Map<List<String>, Place> known = new HashMap<>();
        Map<String, String> copies = new TreeMap<>(); // by the names of both classes; the value is the last place
        FILES.forEach((file, all) -> {
            List<Line> lines = counted(all);
            for (int i = 0; i + LONGEST_COPY < lines.size(); i++) {
                List<String> run = lines.subList(i, i + LONGEST_COPY + 1).stream()
                        .map(Line::text)
                        .toList();
                Place place = new Place(name(file), file + ":" + lines.get(i).number());
                Place first = known.putIfAbsent(run, place);
                if (first != null) {
                    copies.put(first.name() + " ~ " + place.name(), first.line() + " = " + place.line());
                }
            }
        });

        assertThat(copies.keySet()).as("copies at %s", copies.values()).isSubsetOf(COPIES);
    }

    private static List<Line> counted(List<String> lines) {
        List<Line> counted = new ArrayList<>();
        boolean comment = false;
        for (int i = 0; i < lines.size(); i++) {
            String text = lines.get(i).strip();
            boolean begins = text.startsWith("/*");
            if (comment || begins) {
                comment = !text.contains("*/");
            } else if (!text.isEmpty()
                    && !text.startsWith("//")
                    && !isHeader(text)
                    && !ANNOTATION.matcher(text).matches()) {
                counted.add(new Line(i + 1, text));
            }
        }
        return counted;
    }

    private static boolean isHeader(String line) {
        return line.startsWith("import ") || line.startsWith("package ");
    }

    private static String name(String file) {
        return file.substring(file.lastIndexOf('/') + 1).replace(".java", "");
    }
}
