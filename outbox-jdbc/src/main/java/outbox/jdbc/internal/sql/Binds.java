package outbox.jdbc.internal.sql;

import java.sql.SQLException;

/** Binds some parameters of a statement. */
@FunctionalInterface
public interface Binds {
    void to(Binder binder) throws SQLException;
}
