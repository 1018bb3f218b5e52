package outbox.cli;

import java.util.List;

/**
 * A fault to plant into a healthy outbox.
 *
 * @param statements the SQL that plants it
 * @param check the only check that must report it
 * @param words the text that the finding must contain
 */
record Fault(String title, List<String> statements, String check, String words) {

    static Fault of(String title, String check, String words, String... statements) {
        return new Fault(title, List.of(statements), check, words);
    }

    /** The same fault for another table, with its names filled in. */
    Fault at(FaultTable table) {
        return new Fault(
                title + " in " + table.name(),
                statements.stream().map(table::fill).toList(),
                check,
                words);
    }

    @Override
    public String toString() {
        return title;
    }
}
