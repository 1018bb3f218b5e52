package outbox;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Lines of library code and of pages have at most 120 characters. The formatter does not break comments and texts.
 */
class LineLengthTest {

    private static final Path ROOT = Path.of("..");
    private static final int LIMIT = 120;

    private static final Pattern MAIN_CODE = Pattern.compile("outbox-[a-z0-9-]+/src/main/java/.*\\.java");
    private static final Pattern PAGE = Pattern.compile("[A-Za-z.-]+\\.md|docs/(?!benchmarks/).*\\.md");

    @Test
    void no_line_of_main_code_or_of_a_page_is_longer_than_120_characters() throws IOException {
        List<String> tooLong = new ArrayList<>();
        int files = 0;
        for (Path file : files()) {
            String name = ROOT.relativize(file).toString().replace('\\', '/');
            if (MAIN_CODE.matcher(name).matches()) {
                files++;
                collect(name, file, "\"\"\"", tooLong); // text blocks keep their line breaks, above all SQL
            } else if (PAGE.matcher(name).matches()) {
                files++;
                collect(name, file, "```", tooLong); // commands and output
            }
        }

        assertThat(files).as("files that were read").isGreaterThan(300);
        assertThat(tooLong).isEmpty();
    }

    private static List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> children = Files.list(ROOT)) {
            for (Path child : children.toList()) {
                String name = child.getFileName().toString();
                if (Files.isRegularFile(child)) {
                    files.add(child);
                } else if (name.equals("docs")) {
                    addBelow(child, files);
                } else if (Files.isDirectory(child.resolve("src/main/java"))) {
                    addBelow(child.resolve("src/main/java"), files);
                }
            }
        }
        return files;
    }

    private static void addBelow(Path directory, List<Path> files) throws IOException {
        try (Stream<Path> below = Files.walk(directory)) {
            below.filter(Files::isRegularFile).forEach(files::add);
        }
    }

    /** Skips blocks between two fence lines, table rows, links, and lines that cannot be wrapped. */
    private static void collect(String name, Path file, String fence, List<String> tooLong) throws IOException {
        boolean fenced = false;
        int number = 0;
        for (String line : Files.readAllLines(file)) {
            number++;
            boolean inBlock = fenced;
            for (int at = line.indexOf(fence); at >= 0; at = line.indexOf(fence, at + fence.length())) {
                fenced = !fenced;
                inBlock = true;
            }
            String text = line.strip();
            boolean exempt = inBlock || text.startsWith("|") || text.contains("](") || !text.contains(" ");
            if (!exempt && line.codePointCount(0, line.length()) > LIMIT) {
                tooLong.add(name + ":" + number + " " + text);
            }
        }
    }
}
