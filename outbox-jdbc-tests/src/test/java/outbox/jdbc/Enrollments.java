package outbox.jdbc;

import outbox.EventEnvelope;
import outbox.internal.SqlErrors;
import outbox.reconcile.FactSearch;
import outbox.reconcile.Found;
import outbox.reconcile.ReconcileJob;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** Enrolments are the facts, and notifications are the effects of their events. A reconcile job compares the two. */
final class Enrollments {

    static final String JOB = "enrollment";
    static final String TYPE = "EnrollmentCreated";

    private final DataSource pool;

    Enrollments(DataSource pool) {
        this.pool = pool;
    }

    void create() {
        execute("CREATE TABLE enrollment (id INT PRIMARY KEY, created_ms BIGINT NOT NULL)");
        // not unique, so that a duplicate is visible
        execute("CREATE TABLE notification (enrollment_id INT NOT NULL)");
        execute("CREATE INDEX notification_enrollment ON notification (enrollment_id)");
    }

    /** Adds facts with these ids. They are one hour old. */
    void add(int from, int to, Instant now) {
        for (int id = from; id <= to; id++) {
            add(id, now.minus(Duration.ofHours(1)));
        }
    }

    void add(int id, Instant createdAt) {
        execute("INSERT INTO enrollment VALUES (" + id + ", " + createdAt.toEpochMilli() + ")");
    }

    /** Returns a job that reads the facts by id. The minimum age is one minute, and a batch has ten events. */
    ReconcileJob.Builder job() {
        return ReconcileJob.builder(JOB)
                .every(Duration.ofSeconds(1))
                .minimumAge(Duration.ofMinutes(1))
                .batchSize(10)
                .finder(this::find);
    }

    Found find(FactSearch search) throws SQLException {
        String checkpoint = search.checkpoint();
        List<EventEnvelope> events = new ArrayList<>();
        int last = 0;
        // Binds: from, until, checkpoint, limit.
        String sql = """
                SELECT e.id, e.created_ms
                  FROM enrollment e
                 WHERE e.created_ms >= ?
                   AND e.created_ms < ?
                   AND e.id > ?
                   AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.enrollment_id = e.id)
                 ORDER BY e.id
                 LIMIT ?
                """;
        try (Connection connection = pool.getConnection();
                PreparedStatement select = connection.prepareStatement(sql)) {
            select.setLong(1, search.from().toEpochMilli());
            select.setLong(2, search.until().toEpochMilli());
            select.setInt(3, checkpoint == null ? 0 : Integer.parseInt(checkpoint));
            select.setInt(4, search.limit());
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    last = rows.getInt(1);
                    events.add(event(search, last, Instant.ofEpochMilli(rows.getLong(2))));
                }
            }
        }
        return events.size() < search.limit() ? Found.last(events) : Found.more(events, Integer.toString(last));
    }

    private static EventEnvelope event(FactSearch search, int id, Instant createdAt) {
        return EventEnvelope.builder(TYPE)
                .eventId(search.eventId(key(id)))
                .aggregateType("enrollment")
                .aggregateId(Integer.toString(id))
                .dedupKey(key(id))
                .occurredAt(createdAt)
                .payloadJson("{\"enrollmentId\":" + id + "}")
                .build();
    }

    static String key(int id) {
        return "enrollment:" + id;
    }

    /** An event in the table. */
    private record Row(String eventId, String enrollmentId) {}

    /**
     * Delivers up to {@code limit} events and deletes them. The effect and the deletion are in one transaction.
     * Nothing is delivered if the transaction loses a conflict with another one.
     */
    void deliver(int limit) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                for (Row row : rows(statement, limit)) {
                    if (statement.executeUpdate("DELETE FROM outbox_event WHERE event_id = '" + row.eventId + "'")
                            > 0) {
                        statement.executeUpdate("INSERT INTO notification VALUES (" + row.enrollmentId + ")");
                    }
                }
                connection.commit();
            } catch (SQLException e) {
                connection.rollback();
                if (!SqlErrors.isConflict(e)) {
                    throw e;
                }
            } finally {
                connection.setAutoCommit(true);
            }
        }
    }

    private static List<Row> rows(Statement statement, int limit) throws SQLException {
        List<Row> found = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery(
                "SELECT event_id, aggregate_id FROM outbox_event ORDER BY event_id LIMIT " + limit)) {
            while (rows.next()) {
                found.add(new Row(rows.getString(1), rows.getString(2)));
            }
        }
        return found;
    }

    /** Ends the lease of a running job, as if time had passed. */
    void endLeases() {
        execute(
                "UPDATE outbox_reconcile_job SET lease_until = TIMESTAMP '2000-01-01 00:00:00' WHERE run_id IS NOT NULL");
    }

    /** Returns the number of facts without an effect. */
    long undone() {
        return ask("SELECT COUNT(*) FROM enrollment e"
                + " WHERE NOT EXISTS (SELECT 1 FROM notification n WHERE n.enrollment_id = e.id)");
    }

    int execute(String sql) {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            return statement.executeUpdate(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    long ask(String sql) {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }
}
