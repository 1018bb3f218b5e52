package outbox.cli;

import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;

import static org.assertj.core.api.Assertions.assertThat;

class TextTableTest {

    @Test
    void a_long_cell_is_cut_and_does_not_widen_the_lines_of_others() {
        TextTable table = new TextTable("EVENT", "TOPIC", "ERROR");
        table.add("1", "t".repeat(10_000), "e".repeat(10_000));
        table.add("2", "short", null);

        assertThat(lines(table))
                .containsExactly(
                        "EVENT  TOPIC" + " ".repeat(TextTable.MAX_WIDTH - 5) + "  ERROR",
                        "1      " + "t".repeat(TextTable.MAX_WIDTH - 1) + "…  " + "e".repeat(TextTable.MAX_LAST - 1)
                                + "…",
                        "2      short");
    }

    @Test
    void a_cell_cannot_break_out() {
        TextTable table = new TextTable("EVENT", "ERROR");
        table.add("1\nDone", "\u001b[2J\u202e");

        assertThat(lines(table)).containsExactly("EVENT    ERROR", "1\\nDone  \\u001b[2J\\u202e");
    }

    private static String[] lines(TextTable table) {
        StringWriter out = new StringWriter();
        table.print(new PrintWriter(out, true));
        return out.toString().lines().toArray(String[]::new);
    }
}
