package outbox.testing.fault;

import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class MarkerSearchTest {
    @RepeatedTest(200)
    void it_finds_what_a_search_of_the_whole_text_finds_however_it_is_cut_into_pieces() {
        long seed = System.nanoTime();
        var random = new Random(seed);
        var marker = text(random, 1 + random.nextInt(5));
        var text = text(random, random.nextInt(40));

        var search = new MarkerSearch(marker.getBytes(StandardCharsets.US_ASCII));
        int read = 0;
        boolean found = false;
        while (read < text.length() && !found) {
            int next = Math.min(text.length(), read + 1 + random.nextInt(6));
            var piece = text.substring(read, next).getBytes(StandardCharsets.US_ASCII);
            found = search.endsIn(piece, piece.length);
            read = next;
            assertThat(found)
                    .as("seed %d: %s within the first %d of %s", seed, marker, read, text)
                    .isEqualTo(text.substring(0, read).contains(marker));
        }
    }

    @Test
    void an_empty_marker_is_refused() {
        assertThatThrownBy(() -> new MarkerSearch(new byte[0])).isInstanceOf(IllegalArgumentException.class);
    }

    /** Few letters, so that markers overlap with themselves and begin in vain. */
    private static String text(Random random, int length) {
        return random.ints(length, 'a', 'c')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }
}
