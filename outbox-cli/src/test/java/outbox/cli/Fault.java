package outbox.cli;

import java.util.List;

/**
 * Something that is planted into a healthy outbox.
 *
 * @param statements what plants it
 * @param check the check that must find it, alone
 * @param words what the finding must say
 */
record Fault(String title, List<String> statements, String check, String words) {

    static Fault of(String title, String check, String words, String... statements) {
        return new Fault(title, List.of(statements), check, words);
    }

    /** The same for another table, whose names are put in. */
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
