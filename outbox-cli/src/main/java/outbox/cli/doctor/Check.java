package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.List;

/** Looks for one kind of problem. A check only reads. */
interface Check {

    String name();

    List<Finding> look(Examination examination) throws SQLException;

    /** Whether the check must be able to read the rows of the table. */
    default boolean readsTable() {
        return true;
    }

    /** A finding of this check. The commands can be run unchanged. */
    default Finding finding(String problem, String fix, String... commands) {
        return finding(problem, fix, List.of(commands));
    }

    default Finding finding(String problem, String fix, List<String> commands) {
        return new Finding(name(), problem, fix, commands);
    }
}
