package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.List;

/** Looks for one kind of trouble. Reads only. */
interface Check {

    String name();

    List<Finding> look(Examination examination) throws SQLException;

    /** A finding of this check. */
    default Finding finding(String problem, String fix) {
        return new Finding(name(), problem, fix);
    }
}
