package outbox.samples.course;

import outbox.EventEnvelope;
import outbox.reconcile.FactFinder;
import outbox.reconcile.FactSearch;
import outbox.reconcile.Found;
import outbox.reconcile.ReconcileJob;
import outbox.reconcile.Schedule;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The two reconcile jobs. Each finds facts in the tables whose effect is missing, and writes the event that causes
 * the effect.
 */
final class ReconcileJobs {

    static final String ENROLLMENT = "enrollment";
    static final String SESSION_PAYOUT = "session-payout";
    static final String ENROLLMENT_CRON = "RECONCILE_ENROLLMENT_CRON";
    static final String SESSION_PAYOUT_CRON = "RECONCILE_SESSION_PAYOUT_CRON";

    /** Binds: from, until, last id, limit. */
    private static final String WITHOUT_NOTIFICATION = """
            SELECT e.id, e.created_at, e.session_id, e.learner_id
              FROM participation_enrollment e
             WHERE e.created_at >= ?
               AND e.created_at < ?
               AND e.id > ?
               AND e.cancelled_at IS NULL
               AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.enrollment_id = e.id)
             ORDER BY e.id
             LIMIT ?
            """;

    /** Binds: from, until, last id, limit. */
    private static final String WITHOUT_PAYOUT = """
            SELECT s.id, s.finished_at
              FROM course_sessions s
             WHERE s.finished_at >= ?
               AND s.finished_at < ?
               AND s.id > ?
               AND s.status = 'FINISHED'
               AND NOT EXISTS (SELECT 1 FROM payout p WHERE p.session_id = s.id)
             ORDER BY s.id
             LIMIT ?
            """;

    private final CourseDatabase database;
    private final Duration minimumAge;

    ReconcileJobs(CourseDatabase database, Duration minimumAge) {
        this.database = database;
        this.minimumAge = minimumAge;
    }

    ReconcileJob enrollments(Schedule schedule) {
        return job(
                ENROLLMENT,
                schedule,
                search -> find(search, WITHOUT_NOTIFICATION, row -> {
                    long id = row.getLong(1);
                    return CourseEvents.enrollmentCreated(id, row.getLong(3), row.getLong(4))
                            .eventId(search.eventId(CourseEvents.enrollmentKey(id)));
                }));
    }

    ReconcileJob sessionPayouts(Schedule schedule) {
        return job(
                SESSION_PAYOUT,
                schedule,
                search -> find(search, WITHOUT_PAYOUT, row -> {
                    long id = row.getLong(1);
                    return CourseEvents.sessionClosed(id).eventId(search.eventId(CourseEvents.sessionKey(id)));
                }));
    }

    /**
     * Uses the cron expression of this environment variable, or the interval if it is not set.
     *
     * @throws IllegalArgumentException with the name of the variable, if the expression is wrong
     */
    static Schedule schedule(Map<String, String> environment, String name, Duration interval) {
        String cron = environment.get(name);
        if (cron == null) {
            return Schedule.every(interval);
        }
        try {
            return Schedule.cron(cron, ZoneId.systemDefault());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(name + ": " + e.getMessage(), e);
        }
    }

    private ReconcileJob job(String name, Schedule schedule, FactFinder finder) {
        return ReconcileJob.builder(name)
                .schedule(schedule)
                .minimumAge(minimumAge)
                .finder(finder)
                .build();
    }

    /** Creates the event for the fact in the current row. */
    private interface EventOf {
        EventEnvelope.Builder row(ResultSet row) throws SQLException;
    }

    /** The checkpoint is the id of the last fact of a batch. */
    private Found find(FactSearch search, String sql, EventOf event) throws SQLException {
        String checkpoint = search.checkpoint();
        long last = checkpoint == null ? 0 : Long.parseLong(checkpoint);
        List<EventEnvelope> events = new ArrayList<>();
        try (Connection connection = database.dataSource().getConnection();
                PreparedStatement select = connection.prepareStatement(sql)) {
            select.setObject(1, at(search.from()));
            select.setObject(2, at(search.until()));
            select.setLong(3, last);
            select.setInt(4, search.limit());
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    last = row.getLong(1);
                    Instant occurredAt = row.getObject(2, OffsetDateTime.class).toInstant();
                    events.add(event.row(row).occurredAt(occurredAt).build());
                }
            }
        }
        return events.size() < search.limit() ? Found.last(events) : Found.more(events, Long.toString(last));
    }

    private static OffsetDateTime at(Instant time) {
        return time.atOffset(ZoneOffset.UTC);
    }
}
