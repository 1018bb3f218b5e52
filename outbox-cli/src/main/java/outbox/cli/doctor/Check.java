package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.List;

/** Looks for one kind of trouble. Reads only. */
interface Check {

    String name();

    List<Finding> look(Examination examination) throws SQLException;

    /** Whether it can look only where the rows of the table can be read. */
    default boolean readsTable() {
        return true;
    }

    /** A finding of this check. The commands run as they stand. */
    default Finding finding(String problem, String fix, String... commands) {
        return finding(problem, fix, List.of(commands));
    }

    default Finding finding(String problem, String fix, List<String> commands) {
        return new Finding(name(), problem, fix, commands);
    }
}
