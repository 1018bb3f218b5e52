package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.testing.contract.StoreFixture;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.MySqlServer;
import outbox.testing.server.PostgresServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Not on H2, because there is no network between the test and its database. */
class FaultTest {

    @Nested
    class OnPostgres extends FaultContract {

        OnPostgres() {
            super(Databases.POSTGRES, PostgresServer.shared());
        }

        @Test
        void the_commit_of_a_failed_transaction_is_a_rollback_and_delivers_nothing() throws SQLException {
            StoreFixture db = Databases.POSTGRES.fixture();
            List<String> callbacks = new ArrayList<>();
            try (Node node = new Node(db.dataSource(), db.store())) {
                try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
                    node.writer.write("T", "{}");
                    node.txContext.afterRollback(() -> callbacks.add("rollback"));
                    swallowedFailure(tx.connection());
                    assertThatThrownBy(tx::commit)
                            .isInstanceOf(EventStoreException.class)
                            .hasMessageContaining("savepoint");
                }

                assertThat(callbacks).containsExactly("rollback");
                assertThat(db.count("1 = 1")).isZero();
                assertThat(node.delivered).isEmpty();
            }
        }

        private static void swallowedFailure(Connection connection) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                assertThatThrownBy(() -> statement.execute("SELECT 1 / 0")).isInstanceOf(SQLException.class);
            }
        }

        @Test
        void a_commit_that_the_database_refuses_is_a_rollback_and_a_repetition_delivers_once() throws SQLException {
            StoreFixture db = Databases.POSTGRES.fixture();
            try (Node node = new Node(db.dataSource(), db.store());
                    Connection other = db.open();
                    Statement rival = other.createStatement()) {
                rival.execute("CREATE TABLE stock (id INT, n INT)");
                other.commit();
                EventEnvelope event = EventEnvelope.ofJson("T", "{}");
                other.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                rival.execute("SELECT SUM(n) FROM stock");

                try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
                    tx.connection().setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                    try (Statement statement = tx.connection().createStatement()) {
                        statement.execute("SELECT SUM(n) FROM stock");
                        statement.execute("INSERT INTO stock VALUES (1, 1)");
                        node.writer.write(event);
                        rival.execute("INSERT INTO stock VALUES (2, 1)");
                        other.commit();
                        assertThatThrownBy(tx::commit)
                                .isInstanceOfSatisfying(
                                        EventStoreException.class,
                                        e -> assertThat(e.sqlState()).isEqualTo("40001"));
                    }
                }
                assertThat(db.count("1 = 1")).isZero();
                node.write(node.writer, event);

                await().until(() -> db.count("status = 1") == 1);
                assertThat(node.delivered).containsExactly(event);
            }
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends FaultContract {

        OnMariaDb() {
            super(Databases.MARIADB, MariaDbServer.shared());
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends FaultContract {

        OnMySql() {
            super(Databases.MYSQL, MySqlServer.shared());
        }
    }
}
