package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.EventEnvelope;
import outbox.internal.StoreAccess;
import outbox.jdbc.Databases.Isolation;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Transactions of the framework use READ COMMITTED, whatever the default of the pool is. Transactions of the
 * application are not changed.
 */
@Timeout(60)
@Tag("mariadb")
@Tag("mysql")
class FrameworkIsolationTest {

    static Stream<Arguments> pools() {
        return Stream.of(Databases.POSTGRES, Databases.MARIADB, Databases.MYSQL)
                .flatMap(database -> Stream.of(Isolation.values()).map(isolation -> Arguments.of(database, isolation)));
    }

    @ParameterizedTest
    @MethodSource("pools")
    void a_transaction_of_the_framework_sees_what_others_commit_meanwhile(Databases database, Isolation isolation)
            throws SQLException {
        StoreFixture db = database.fixtureAt(isolation);
        StoreAccess access = new StoreAccess(db.dataSource()::getConnection, db.store());

        for (long round = 0; round < 3; round++) { // on a new connection and on a reused one
            List<Long> counts = access.inTransaction("count twice", connection -> {
                long before = count(connection);
                db.insert(EventEnvelope.ofJson("T", "{}"));
                return List.of(before, count(connection));
            });

            assertThat(counts).containsExactly(round, round + 1);
        }
        assertThat(isolationOfTheApplication(db, database))
                .isEqualToIgnoringCase(isolation.name().replace('_', ' '));
    }

    private static long count(Connection connection) throws SQLException {
        return Long.parseLong(read(connection, "SELECT COUNT(*) FROM outbox_event"));
    }

    private static String isolationOfTheApplication(StoreFixture db, Databases database) throws SQLException {
        try (Connection connection = db.open()) {
            return read(
                            connection,
                            database == Databases.POSTGRES
                                    ? "SHOW transaction_isolation"
                                    : "SELECT @@transaction_isolation")
                    .replace('-', ' ');
        }
    }

    private static String read(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }
}
