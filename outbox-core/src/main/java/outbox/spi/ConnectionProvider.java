package outbox.spi;

import java.sql.Connection;
import java.sql.SQLException;

/** Gives the dispatcher and the poller connections of their own, outside any business transaction. Each is held for a few statements and closed. */
@FunctionalInterface
public interface ConnectionProvider {

    Connection getConnection() throws SQLException;
}
