package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.PrintableText;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Rows of text in columns. Values from the database are made printable and shortened to {@value #MAX_WIDTH}
 * characters, so that they cannot break the layout. The last column widens only its own line, so its limit is {@value
 * #MAX_LAST}. JSON output contains the full values.
 */
final class TextTable {

    static final int MAX_WIDTH = 64;
    static final int MAX_LAST = 500;

    private final String[] heads;
    private final List<String[]> rows = new ArrayList<>();

    TextTable(String... heads) {
        this.heads = heads.clone();
    }

    /** Adds a row; null is an empty cell. */
    void add(@Nullable Object... cells) {
        String[] row = new String[cells.length];
        for (int i = 0; i < cells.length; i++) {
            row[i] = text(cells[i], i == cells.length - 1 ? MAX_LAST : MAX_WIDTH);
        }
        rows.add(row);
    }

    private static String text(@Nullable Object cell, int maxWidth) {
        if (cell == null) {
            return "";
        }
        return cell instanceof Duration duration ? age(duration) : PrintableText.of(cell.toString(), maxWidth);
    }

    /** Shortens a text that is longer than this. */
    static @Nullable String cut(@Nullable String text, int most) {
        return text == null || text.length() <= most ? text : text.substring(0, most) + "…";
    }

    static String age(Duration duration) {
        long seconds = Math.max(0, duration.toSeconds());
        if (seconds < 120) {
            return seconds + "s";
        }
        if (seconds < 7200) {
            return seconds / 60 + "m";
        }
        return seconds < 48 * 3600 ? seconds / 3600 + "h" : seconds / 86_400 + "d";
    }

    void print(PrintWriter out) {
        int[] widths = new int[heads.length];
        for (int i = 0; i < heads.length; i++) {
            int column = i;
            widths[i] = Math.max(
                    heads[i].length(),
                    rows.stream().mapToInt(row -> row[column].length()).max().orElse(0));
        }
        out.println(line(heads, widths));
        rows.forEach(row -> out.println(line(row, widths)));
    }

    private static String line(String[] cells, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < cells.length; i++) {
            line.append(i == 0 ? "" : "  ").append(cells[i]).append(" ".repeat(widths[i] - cells[i].length()));
        }
        return line.toString().stripTrailing();
    }
}
