package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.List;

/** Looks for one kind of problem. A check only reads. */
abstract class Check {

    private final String name;
    private final boolean readsTable;

    /** @param readsTable whether the check must be able to read the rows of the table */
    Check(String name, boolean readsTable) {
        this.name = name;
        this.readsTable = readsTable;
    }

    final String name() {
        return name;
    }

    final boolean readsTable() {
        return readsTable;
    }

    abstract List<Finding> look(Examination examination) throws SQLException;

    /** A finding of this check. The commands can be run unchanged. */
    final Finding finding(String problem, String fix, String... commands) {
        return finding(problem, fix, List.of(commands));
    }

    final Finding finding(String problem, String fix, List<String> commands) {
        return new Finding(name, problem, fix, commands);
    }
}
