package outbox.jdbc.internal.sql;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Maps the current row to a value. */
@FunctionalInterface
public interface RowMapper<T> {
    T map(ResultSet row) throws SQLException;

    /** Maps all rows that follow. */
    static <T> List<T> all(ResultSet rows, RowMapper<T> mapper) throws SQLException {
        List<T> found = new ArrayList<>();
        while (rows.next()) {
            found.add(mapper.map(rows));
        }
        return found;
    }
}
