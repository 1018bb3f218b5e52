package outbox.samples.course;

import org.h2.jdbcx.JdbcConnectionPool;
import org.jspecify.annotations.Nullable;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.jdbc.ThreadLocalTxContext;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;

/** The business data and its transactions. It does not know about events. */
final class CourseDatabase implements AutoCloseable {

    private static final int CONNECTIONS = 24;

    /**
     * Constraints enforce the rules once more: each learner enrols once per session, and a session has at most as
     * many enrolments as places. The tables of the effects have no unique constraint, so that a duplicate effect
     * becomes visible.
     */
    private static final List<String> TABLES = List.of("""
            CREATE TABLE IF NOT EXISTS course_sessions (
                id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                capacity    INT NOT NULL CHECK (capacity > 0),
                taken       INT DEFAULT 0 NOT NULL CHECK (taken BETWEEN 0 AND capacity),
                fee         INT NOT NULL CHECK (fee >= 0),
                status      VARCHAR(8) DEFAULT 'OPEN' NOT NULL CHECK (status IN ('OPEN', 'FINISHED')),
                finished_at TIMESTAMP(3) WITH TIME ZONE
            )
            """, """
            CREATE TABLE IF NOT EXISTS participation_enrollment (
                id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                session_id   BIGINT NOT NULL REFERENCES course_sessions (id),
                learner_id   BIGINT NOT NULL,
                created_at   TIMESTAMP(3) WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
                cancelled_at TIMESTAMP(3) WITH TIME ZONE,
                UNIQUE (session_id, learner_id)
            )
            """, """
            CREATE TABLE IF NOT EXISTS notification (
                enrollment_id BIGINT NOT NULL REFERENCES participation_enrollment (id)
            )
            """, """
            CREATE TABLE IF NOT EXISTS payout (
                session_id BIGINT NOT NULL REFERENCES course_sessions (id),
                amount     BIGINT NOT NULL
            )
            """);

    private final JdbcConnectionPool pool;
    private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    private final JdbcTransactionManager transactions;

    /** Statements that run in a transaction. */
    interface Work<T> {
        T in(Connection connection) throws SQLException;
    }

    /** Opens the database in the file. Without a file, the database is in memory until it is closed. */
    CourseDatabase(@Nullable Path file) throws SQLException {
        // With WRITE_DELAY=0, a commit is in the file when it returns. Otherwise the end of the process could lose
        // the commits of the last half second.
        String url = file == null
                ? "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1"
                : "jdbc:h2:file:" + file.toAbsolutePath() + ";WRITE_DELAY=0";
        pool = JdbcConnectionPool.create(url + ";DB_CLOSE_ON_EXIT=FALSE;LOCK_TIMEOUT=10000", "", "");
        pool.setMaxConnections(CONNECTIONS);
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), txContext);
        for (String table : TABLES) {
            execute(table);
        }
    }

    DataSource dataSource() {
        return pool;
    }

    ThreadLocalTxContext txContext() {
        return txContext;
    }

    /** Runs the work in the current transaction of this thread, or in a new one. */
    <T> T inTransaction(Work<T> work) throws SQLException {
        if (txContext.isTransactionActive()) {
            return work.in(txContext.currentConnection());
        }
        try (Transaction tx = transactions.begin()) {
            T answer = work.in(tx.connection());
            tx.commit();
            return answer;
        }
    }

    /** Returns the number that the query selects. */
    long count(String sql, long id) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement select = connection.prepareStatement(sql)) {
            select.setLong(1, id);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    public void close() {
        try {
            execute("SHUTDOWN");
        } catch (SQLException e) {
            System.getLogger(getClass().getName()).log(System.Logger.Level.WARNING, "The database was not closed", e);
        } finally {
            pool.dispose();
        }
    }
}
