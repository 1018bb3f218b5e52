package outbox.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** The business table: one row per event, the same for all contenders. */
final class Business {
    static final String CREATE = """
            CREATE TABLE business_order (
                id       BIGINT      NOT NULL PRIMARY KEY,
                customer VARCHAR(64) NOT NULL,
                total    BIGINT      NOT NULL
            )""";

    private static final String INSERT = """
            INSERT INTO business_order (id, customer, total)
            VALUES (?, ?, ?)
            """;

    private Business() {}

    /** Makes the business change of the event, in the transaction of the connection. */
    static void change(Connection connection, Event event) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(INSERT)) {
            insert.setLong(1, event.number());
            insert.setString(2, event.aggregateId());
            insert.setLong(3, event.sequence());
            insert.executeUpdate();
        }
    }
}
