package outbox.testing.fault;

import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import outbox.testing.fault.FaultyDataSource.ClosedConnection;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Set;
import java.util.UUID;

import static java.sql.Connection.TRANSACTION_SERIALIZABLE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.testing.fault.FaultyDataSource.Call.executing;
import static outbox.testing.fault.FaultyDataSource.Call.to;
import static outbox.testing.internal.Sql.number;
import static outbox.testing.internal.Sql.update;

class FaultyDataSourceTest {
    private final JdbcDataSource database = new JdbcDataSource();
    private final FaultyDataSource faulty = new FaultyDataSource(database);
    private Connection keeper;

    @BeforeEach
    void createTable() throws SQLException {
        database.setUrl("jdbc:h2:mem:" + UUID.randomUUID());
        keeper = database.getConnection(); // the database lives as long as one connection
        update(keeper, "CREATE TABLE t (id INT PRIMARY KEY)");
    }

    @AfterEach
    void dropDatabase() throws SQLException {
        keeper.close();
    }

    @Test
    void a_fault_before_the_effect_hits_the_nth_matching_call_only_and_nothing_happens() throws SQLException {
        var fault = faulty.failBefore(2, executing("INSERT"), "40001");

        try (var connection = faulty.getConnection()) {
            update(connection, "INSERT INTO t VALUES (1)");
            assertThat(fault.happened()).isFalse();
            assertThatThrownBy(() -> update(connection, "INSERT INTO t VALUES (2)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            assertThat(fault.happened()).isTrue();
            update(connection, "INSERT INTO t VALUES (3)");
        }

        assertThat(rows()).isEqualTo(2);
    }

    @Test
    void a_fault_after_the_effect_leaves_the_effect() throws SQLException {
        faulty.failAfter(1, to("commit"), "08006");

        try (var connection = faulty.getConnection()) {
            connection.setAutoCommit(false);
            update(connection, "INSERT INTO t VALUES (1)");
            assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
        }

        assertThat(rows()).isEqualTo(1);
    }

    @Test
    void a_fault_matches_the_sql_of_prepared_statements_and_batches() throws SQLException {
        faulty.failAfter(1, executing("INSERT"), "08006");

        try (var connection = faulty.getConnection();
                var statement = connection.prepareStatement("INSERT INTO t VALUES (?)")) {
            for (int id = 1; id <= 3; id++) {
                statement.setInt(1, id);
                statement.addBatch();
            }
            assertThatThrownBy(statement::executeBatch).isInstanceOf(SQLException.class);
        }

        assertThat(rows()).isEqualTo(3);
    }

    @Test
    void an_exception_of_the_tests_making_is_thrown_as_it_is() throws SQLException {
        var deadlock = new SQLException("Deadlock found", "40001", 1213);
        faulty.failBefore(1, to("commit"), () -> deadlock);

        try (var connection = faulty.getConnection()) {
            assertThatThrownBy(connection::commit).isSameAs(deadlock);
        }
    }

    @Test
    void opening_a_connection_can_fail_and_leaks_none() throws SQLException {
        faulty.failBefore(1, to("getConnection"), "08001");
        assertThatThrownBy(faulty::getConnection).isInstanceOf(SQLException.class);
        faulty.failAfter(1, to("getConnection"), "08001");
        assertThatThrownBy(faulty::getConnection).isInstanceOf(SQLException.class);

        assertThat(faulty.openConnections()).isZero();
        assertThat(number(keeper, "SELECT count(*) FROM information_schema.sessions"))
                .isEqualTo(1);
    }

    @Test
    void healing_forgets_faults_and_rewriting() throws SQLException {
        faulty.failBefore(1, executing("INSERT"), "40001");
        faulty.rewriteSql(sql -> "not SQL");

        faulty.heal();

        try (var connection = faulty.getConnection()) {
            update(connection, "INSERT INTO t VALUES (1)");
        }
        assertThat(rows()).isEqualTo(1);
    }

    @Test
    void faults_are_counted_from_one() {
        assertThatThrownBy(() -> faulty.failBefore(0, to("commit"), "08006"))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void sql_is_rewritten_whether_prepared_or_not() throws SQLException {
        faulty.rewriteSql(sql -> sql.replace(" FOR UPDATE SKIP LOCKED", ""));
        update(keeper, "INSERT INTO t VALUES (1)");
        keeper.setAutoCommit(false);
        number(keeper, "SELECT id FROM t FOR UPDATE"); // from here on a skip sees nothing

        try (var connection = faulty.getConnection();
                var prepared = connection.prepareStatement("SELECT id FROM t FOR UPDATE SKIP LOCKED");
                var result = prepared.executeQuery()) {
            assertThat(result.next()).isTrue();
            assertThat(number(connection, "SELECT count(*) FROM (SELECT id FROM t FOR UPDATE SKIP LOCKED)"))
                    .isEqualTo(1);
        }
    }

    @Test
    void a_connection_that_is_given_back_as_it_was_found_is_recorded_so() throws SQLException {
        try (var connection = faulty.getConnection()) {
            connection.setAutoCommit(false);
            connection.setReadOnly(true);
            int isolation = connection.getTransactionIsolation();
            connection.setTransactionIsolation(TRANSACTION_SERIALIZABLE);
            number(connection, "SELECT count(*) FROM t");
            connection.rollback();
            connection.setTransactionIsolation(isolation);
            connection.setReadOnly(false);
            connection.setAutoCommit(true);
        }

        assertThat(faulty.closedConnections()).singleElement().matches(ClosedConnection::isLeftAsFound);
    }

    @Test
    void what_was_left_behind_on_a_connection_is_recorded() throws SQLException {
        try (var connection = faulty.getConnection()) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(TRANSACTION_SERIALIZABLE);
            connection.commit();
            update(connection, "INSERT INTO t VALUES (1)");
            connection.rollback(connection.setSavepoint());
        }

        assertThat(faulty.closedConnections()).singleElement().satisfies(left -> {
            assertThat(left.isLeftAsFound()).isFalse();
            assertThat(left.unfinished()).isTrue();
            assertThat(left.opened().autoCommit()).isTrue();
            assertThat(left.closed().autoCommit()).isFalse();
            assertThat(left.closed().isolation()).isEqualTo(TRANSACTION_SERIALIZABLE);
        });
    }

    @Test
    void a_transaction_is_finished_by_commit_rollback_or_auto_commit() throws SQLException {
        try (var connection = faulty.getConnection()) {
            connection.setAutoCommit(false);
            update(connection, "INSERT INTO t VALUES (1)");
            connection.commit();
        }
        try (var connection = faulty.getConnection()) {
            connection.setAutoCommit(false);
            update(connection, "INSERT INTO t VALUES (2)");
            connection.rollback();
        }
        try (var connection = faulty.getConnection()) {
            connection.setAutoCommit(false);
            update(connection, "INSERT INTO t VALUES (3)");
            connection.setAutoCommit(true);
        }

        assertThat(faulty.closedConnections()).hasSize(3).noneMatch(ClosedConnection::unfinished);
    }

    @Test
    void statements_and_connections_are_counted() throws SQLException {
        var first = faulty.getConnection();
        var second = faulty.getConnection();
        update(first, "INSERT INTO t VALUES (1)");
        number(second, "SELECT count(*) FROM t");
        assertThat(faulty.openConnections()).isEqualTo(2);

        first.close();
        first.close(); // allowed, and counted once
        assertThat(faulty.openConnections()).isEqualTo(1);
        second.close();

        assertThat(faulty.openConnections()).isZero();
        assertThat(faulty.peakConnections()).isEqualTo(2);
        assertThat(faulty.statements()).isEqualTo(2);
        assertThat(faulty.closedConnections()).hasSize(2);
    }

    @Test
    void a_statement_knows_its_connection_and_proxies_equal_themselves() throws SQLException {
        try (var connection = faulty.getConnection();
                var statement = connection.prepareCall("SELECT 1")) {
            assertThat(statement.getConnection()).isSameAs(connection);
            assertThat(Set.of(connection, statement)).contains(connection, statement);
            assertThat(connection.unwrap(Connection.class)).isSameAs(connection);
            assertThat(statement.unwrap(PreparedStatement.class)).isSameAs(statement);
            assertThat(connection.toString()).startsWith("faulty ");
        }
    }

    @Test
    void what_the_driver_throws_arrives_as_it_was_thrown() throws SQLException {
        try (var connection = faulty.getConnection()) {
            assertThatThrownBy(() -> update(connection, "INSERT INTO nowhere VALUES (1)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42S02"));
        }
    }

    private int rows() throws SQLException {
        return number(keeper, "SELECT count(*) FROM t");
    }
}
