package outbox.model;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class EventStatusTest {

    @Test
    void codes_are_those_of_the_specification() {
        assertThat(EventStatus.NEW.code()).isEqualTo(0);
        assertThat(EventStatus.DONE.code()).isEqualTo(1);
        assertThat(EventStatus.RETRY.code()).isEqualTo(2);
        assertThat(EventStatus.DEAD.code()).isEqualTo(3);
    }

    @Test
    void a_status_is_found_by_its_code() {
        for (EventStatus status : EventStatus.values()) {
            assertThat(EventStatus.of(status.code())).isEqualTo(status);
        }
    }

    @Test
    void a_code_of_no_status_is_refused() {
        assertThatIllegalArgumentException().isThrownBy(() -> EventStatus.of(4)).withMessageContaining("4");
        assertThatIllegalArgumentException().isThrownBy(() -> EventStatus.of(-1));
    }

    @Test
    void done_and_dead_are_terminal() {
        assertThat(EventStatus.values())
                .filteredOn(EventStatus::isTerminal)
                .containsExactly(EventStatus.DONE, EventStatus.DEAD);
    }

    @Test
    void the_diagram_shows_exactly_the_edges_of_the_code() throws IOException {
        String page = Files.readString(pageOfTheLife());
        assertThat(page).contains("<!-- edges -->", "<!-- /edges -->");
        String block = page.substring(page.indexOf("<!-- edges -->"), page.indexOf("<!-- /edges -->"));

        Set<String> drawn = block.lines()
                .map(line -> line.replaceFirst(":.*", "").strip())
                .filter(line -> line.matches("[A-Z]+ --> [A-Z]+"))
                .collect(Collectors.toSet());

        assertThat(drawn).containsExactlyInAnyOrderElementsOf(edgesOfTheCode());
    }

    private static List<String> edgesOfTheCode() {
        return Arrays.stream(EventStatus.values())
                .flatMap(from -> Arrays.stream(EventStatus.values())
                        .filter(from::canBecome)
                        .map(to -> from + " --> " + to))
                .toList();
    }

    /** Finds the page in a parent directory of the module, independent of where the tests are started. */
    private static Path pageOfTheLife() {
        for (Path directory = Path.of("").toAbsolutePath(); directory != null; directory = directory.getParent()) {
            Path page = directory.resolve("docs").resolve("event-life.md");
            if (Files.exists(page)) {
                return page;
            }
        }
        throw new AssertionError("docs/event-life.md is missing");
    }
}
