package outbox;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/** Every relative link in the Markdown pages points to an existing file and to an existing heading in it. */
class PageLinksTest {

    private static final Path ROOT = Path.of("..");
    private static final Path REFERENCE = ROOT.resolve("docs/reference");
    private static final Pattern LINK = Pattern.compile("]\\(([^)\\s#]*)(#[^)\\s]+)?\\)");
    private static final Pattern CODE = Pattern.compile("^```.*?^```", Pattern.DOTALL | Pattern.MULTILINE);

    private final Map<Path, Set<String>> anchors = new HashMap<>();

    @Test
    void links_lead_to_a_file_and_a_heading() throws IOException {
        List<Path> pages = pages();
        List<String> broken = new ArrayList<>();
        for (Path page : pages) {
            Matcher link = LINK.matcher(withoutCode(page));
            while (link.find()) {
                if (!leadsSomewhere(page, link.group(1), link.group(2))) {
                    broken.add(page + ": " + link.group());
                }
            }
        }

        assertThat(pages).hasSizeGreaterThan(100);
        assertThat(broken).isEmpty();
    }

    @Test
    void the_index_lists_every_page_of_the_reference() throws IOException {
        String index = Files.readString(REFERENCE.resolve("index.md"));

        try (Stream<Path> pages = Files.list(REFERENCE)) {
            assertThat(pages.map(page -> page.getFileName().toString()).filter(name -> !name.equals("index.md")))
                    .isNotEmpty()
                    .allSatisfy(name -> assertThat(index).contains("](" + name + ")"));
        }
    }

    /** The pages in the root directory, in docs and in the samples. */
    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>(pages(ROOT, 1));
        pages.addAll(pages(ROOT.resolve("docs"), Integer.MAX_VALUE));
        pages.addAll(pages(ROOT.resolve("samples"), 2));
        return pages;
    }

    private static List<Path> pages(Path directory, int depth) throws IOException {
        try (Stream<Path> files = Files.walk(directory, depth)) {
            return files.filter(file -> file.toString().endsWith(".md"))
                    .sorted()
                    .toList();
        }
    }

    private static String withoutCode(Path page) throws IOException {
        return CODE.matcher(Files.readString(page)).replaceAll("");
    }

    private boolean leadsSomewhere(Path page, String file, String anchor) throws IOException {
        if (file.contains(":")) {
            return true; // another site
        }
        Path target = file.isEmpty() ? page : page.resolveSibling(file).normalize();
        if (!Files.exists(target)) {
            return false;
        }
        return anchor == null
                || !target.toString().endsWith(".md")
                || anchorsOf(target).contains(anchor);
    }

    private Set<String> anchorsOf(Path page) throws IOException {
        Set<String> known = anchors.get(page);
        if (known == null) {
            known = withoutCode(page)
                    .lines()
                    .filter(line -> line.startsWith("#"))
                    .map(PageLinksTest::anchor)
                    .collect(Collectors.toSet());
            anchors.put(page, known);
        }
        return known;
    }

    /** Derives the anchor from a heading as GitHub does. */
    private static String anchor(String heading) {
        return "#"
                + heading.replaceFirst("^#+ ", "")
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-');
    }
}
