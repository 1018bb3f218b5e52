package outbox.samples.course;

import outbox.EventEnvelope;
import outbox.inbox.IdempotentListener;
import outbox.inbox.Inbox;
import outbox.registry.DefaultListenerRegistry;
import outbox.registry.ListenerRegistry;

import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The effects of events: a notification for each enrolment, and a payout for each closed session. Each effect
 * happens once per key.
 */
final class Effects {

    private final CourseDatabase database;
    private final Duration slowness;

    /** @param slowness how long each effect takes, to simulate a mail server or a bank */
    Effects(CourseDatabase database, Duration slowness) {
        this.database = database;
        this.slowness = slowness;
    }

    ListenerRegistry listeners(Inbox inbox) {
        return new DefaultListenerRegistry()
                .register(
                        CourseEvents.ENROLLMENT,
                        CourseEvents.ENROLLMENT_CREATED,
                        new IdempotentListener(inbox, "notification", this::sendNotification))
                .register(
                        CourseEvents.SESSION,
                        CourseEvents.SESSION_CLOSED,
                        new IdempotentListener(inbox, "payout", this::payOut));
    }

    private void sendNotification(EventEnvelope event) throws Exception {
        happen(event, "INSERT INTO notification (enrollment_id) VALUES (?)");
    }

    /** May run at any later time, because places and fee of a finished session no longer change. */
    private void payOut(EventEnvelope event) throws Exception {
        happen(
                event,
                "INSERT INTO payout (session_id, amount) SELECT id, taken * fee FROM course_sessions WHERE id = ?");
    }

    /** With an inbox in the database, the inbox mark and the effect are in one transaction. */
    private void happen(EventEnvelope event, String sql) throws Exception {
        TimeUnit.NANOSECONDS.sleep(slowness.toNanos());
        database.inTransaction(connection -> {
            try (PreparedStatement insert = connection.prepareStatement(sql)) {
                insert.setLong(1, Long.parseLong(String.valueOf(event.aggregateId())));
                return insert.executeUpdate();
            }
        });
    }
}
