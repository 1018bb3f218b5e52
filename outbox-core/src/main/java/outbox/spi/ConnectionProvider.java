package outbox.spi;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * Provides connections for the dispatcher and the poller, outside any business transaction. Each connection is used
 * for a few statements and then closed.
 */
@FunctionalInterface
public interface ConnectionProvider {

    Connection getConnection() throws SQLException;
}
