package outbox.samples.course;

import outbox.OutboxWriter;
import outbox.samples.course.Answer.Outcome;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;

/**
 * The use cases. Capacity and uniqueness are decided here, in the transaction that locks the row of the session.
 * The event is written last and only triggers effects that may happen later. This class does not know where
 * events are stored.
 */
final class UseCases {

    private final CourseDatabase database;
    private final OutboxWriter writer;

    UseCases(CourseDatabase database, OutboxWriter writer) {
        this.database = database;
        this.writer = writer;
    }

    /** @param fee the price for each learner */
    Answer openSession(int capacity, int fee) throws SQLException {
        return database.inTransaction(connection -> {
            try (PreparedStatement insert =
                    insert(connection, "INSERT INTO course_sessions (capacity, fee) VALUES (?, ?)", capacity, fee)) {
                return new Answer(Outcome.CREATED, newId(insert));
            }
        });
    }

    Answer enroll(long sessionId, long learnerId) throws SQLException {
        return database.inTransaction(connection -> {
            Optional<Session> locked = lock(connection, sessionId);
            if (locked.isEmpty()) {
                return Answer.of(Outcome.NOT_FOUND);
            }
            Optional<Long> existing = enrollmentOf(connection, sessionId, learnerId);
            if (existing.isPresent()) {
                return new Answer(Outcome.ALREADY_EXISTS, existing.get());
            }
            Session session = locked.get();
            if (!session.open()) {
                return Answer.of(Outcome.FINISHED);
            }
            if (session.taken() >= session.capacity()) {
                return Answer.of(Outcome.FULL);
            }
            long enrollmentId = take(connection, sessionId, learnerId);
            writer.write(CourseEvents.enrollmentCreated(enrollmentId, sessionId, learnerId)
                    .build());
            return new Answer(Outcome.CREATED, enrollmentId);
        });
    }

    /**
     * Releases the place, unless the session is finished: its payout no longer changes. The enrolment row stays, so
     * the learner cannot enrol in the same session again.
     */
    Answer cancel(long enrollmentId) throws SQLException {
        return database.inTransaction(connection -> {
            Optional<Long> sessionId = sessionOf(connection, enrollmentId);
            if (sessionId.isEmpty()) {
                return Answer.of(Outcome.NOT_FOUND);
            }
            if (!lock(connection, sessionId.get()).orElseThrow().open()) {
                return Answer.of(Outcome.FINISHED);
            }
            int cancelled = update(connection, """
                    UPDATE participation_enrollment
                       SET cancelled_at = CURRENT_TIMESTAMP
                     WHERE id = ?
                       AND cancelled_at IS NULL
                    """, enrollmentId);
            if (cancelled == 0) {
                return Answer.of(Outcome.NOT_FOUND);
            }
            update(connection, "UPDATE course_sessions SET taken = taken - 1 WHERE id = ?", sessionId.get());
            return new Answer(Outcome.DONE, enrollmentId);
        });
    }

    Answer closeSession(long sessionId) throws SQLException {
        return database.inTransaction(connection -> {
            Optional<Session> session = lock(connection, sessionId);
            if (session.isEmpty()) {
                return Answer.of(Outcome.NOT_FOUND);
            }
            if (!session.get().open()) {
                return new Answer(Outcome.ALREADY_DONE, sessionId);
            }
            update(
                    connection,
                    "UPDATE course_sessions SET status = 'FINISHED', finished_at = CURRENT_TIMESTAMP WHERE id = ?",
                    sessionId);
            writer.write(CourseEvents.sessionClosed(sessionId).build());
            return new Answer(Outcome.DONE, sessionId);
        });
    }

    private record Session(int capacity, int taken, boolean open) {}

    /** Locks the session. Concurrent transactions wait here until this transaction ends. */
    private static Optional<Session> lock(Connection connection, long sessionId) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(
                "SELECT capacity, taken, status FROM course_sessions WHERE id = ? FOR UPDATE")) {
            select.setLong(1, sessionId);
            try (ResultSet row = select.executeQuery()) {
                return row.next()
                        ? Optional.of(new Session(row.getInt(1), row.getInt(2), "OPEN".equals(row.getString(3))))
                        : Optional.empty();
            }
        }
    }

    /** Reads without a lock, because an enrolment never changes its session. */
    private static Optional<Long> sessionOf(Connection connection, long enrollmentId) throws SQLException {
        try (PreparedStatement select =
                connection.prepareStatement("SELECT session_id FROM participation_enrollment WHERE id = ?")) {
            select.setLong(1, enrollmentId);
            return firstId(select);
        }
    }

    private static Optional<Long> enrollmentOf(Connection connection, long sessionId, long learnerId)
            throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(
                "SELECT id FROM participation_enrollment WHERE session_id = ? AND learner_id = ?")) {
            select.setLong(1, sessionId);
            select.setLong(2, learnerId);
            return firstId(select);
        }
    }

    private static Optional<Long> firstId(PreparedStatement select) throws SQLException {
        try (ResultSet row = select.executeQuery()) {
            return row.next() ? Optional.of(row.getLong(1)) : Optional.empty();
        }
    }

    private static long take(Connection connection, long sessionId, long learnerId) throws SQLException {
        update(connection, "UPDATE course_sessions SET taken = taken + 1 WHERE id = ?", sessionId);
        try (PreparedStatement insert = insert(
                connection,
                "INSERT INTO participation_enrollment (session_id, learner_id) VALUES (?, ?)",
                sessionId,
                learnerId)) {
            return newId(insert);
        }
    }

    private static PreparedStatement insert(Connection connection, String sql, long first, long second)
            throws SQLException {
        PreparedStatement insert = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS);
        insert.setLong(1, first);
        insert.setLong(2, second);
        return insert;
    }

    private static long newId(PreparedStatement insert) throws SQLException {
        insert.executeUpdate();
        try (ResultSet keys = insert.getGeneratedKeys()) {
            keys.next();
            return keys.getLong(1);
        }
    }

    private static int update(Connection connection, String sql, long id) throws SQLException {
        try (PreparedStatement update = connection.prepareStatement(sql)) {
            update.setLong(1, id);
            return update.executeUpdate();
        }
    }
}
