package outbox;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/** The records in docs/adr are numbered without gaps, and links to them point to existing files. */
class DecisionsTest {

    private static final Path DOCS = Path.of("..", "docs");
    private static final Pattern LINK =
            Pattern.compile("\\[(?:ADR\\s+)?(\\d+)]\\((?:\\.\\./)?adr/((\\d{4})-[a-z0-9-]+\\.md)\\)");

    private static List<Path> pages(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(".md"))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void each_has_the_next_number_in_its_name_and_heading() throws IOException {
        List<Path> records = pages(DOCS.resolve("adr"));

        assertThat(records)
                .extracting(record -> record.getFileName().toString().substring(0, 4))
                .containsExactlyElementsOf(IntStream.rangeClosed(1, records.size())
                        .mapToObj("%04d"::formatted)
                        .toList());
        for (Path record : records) {
            int number = Integer.parseInt(record.getFileName().toString().substring(0, 4));
            assertThat(Files.readAllLines(record).get(0)).startsWith("# " + number + ". ");
        }
    }

    @Test
    void links_lead_to_the_record_that_they_name() throws IOException {
        List<Path> pages = new ArrayList<>(pages(DOCS));
        pages.addAll(pages(DOCS.resolve("guide")));
        pages.addAll(pages(DOCS.resolve("reference")));
        for (Path page : pages) {
            Matcher link = LINK.matcher(Files.readString(page));
            while (link.find()) {
                assertThat(DOCS.resolve("adr").resolve(link.group(2)))
                        .as(page.toString())
                        .exists();
                assertThat(Integer.parseInt(link.group(3))).isEqualTo(Integer.parseInt(link.group(1)));
            }
        }
    }
}
